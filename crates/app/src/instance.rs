//! The instance as its owners describe it. Stored in the database, so that all nodes share it.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use blobs::SpooledFile;
use bytes::Bytes;
use imaging::OutputFormat;
use model::{AuditAction, Size};
use store::Key;

use crate::actor::{Audited, Logged};
use crate::instance_settings::{Instance, KEYS, check_instance_setting};
use crate::logo::LOGO_KEY;
use crate::upload::{too_slow, unreadable};
use crate::{Actor, App, Client, Error, Sources};

/// The side of the logo: that of the largest icon of an installed web app.
const LOGO_SIDE: u16 = 512;

impl App {
    /// The names of the settings of an instance.
    pub fn instance_keys() -> impl Iterator<Item = &'static str> {
        KEYS.iter().map(|(key, _)| *key)
    }

    pub async fn instance(&self) -> Result<Arc<Instance>, Error> {
        let sources = self.sources();
        let instance = self.read_instance(&sources).await;
        self.settle(&sources, instance).await
    }

    /// The same as a part of a response, or of a memoised value.
    pub async fn read_instance(&self, sources: &Sources) -> Result<Arc<Instance>, Error> {
        let fill = async |sources: Arc<Sources>| {
            sources.add(Key::INSTANCE);
            let rows = self.0.store.instance_settings().await?;
            let values = rows.into_iter().map(|row| (row.key, row.value)).collect();
            let instance = Arc::new(Instance::from_values(&values));
            *self.0.caches.last_instance.write() = Some(instance.clone());
            Ok(instance)
        };
        self.0.caches.instance.get(sources, (), fill).await
    }

    /// The settings that can be edited, with their values; `None` for one that is not set.
    pub async fn instance_settings(&self) -> Result<Vec<(&'static str, Option<String>)>, Error> {
        let instance = self.instance().await?;
        let rows = self.0.store.instance_settings().await?;
        let stored = |key: &str| rows.iter().find(|row| row.key == key).map(|row| row.value.clone());
        let value = |key| match key {
            "registration" => Some(instance.registration.to_string()),
            "member_invitations" => Some(instance.member_invitations().into()),
            _ => stored(key),
        };
        Ok(Self::instance_keys().map(|key| (key, value(key))).collect())
    }

    /// The instance as it was last read, for pages about a database that cannot be reached.
    pub fn last_instance(&self) -> Option<Arc<Instance>> {
        self.0.caches.last_instance.read().clone()
    }

    /// The logo as a PNG of this size, up to that of the stored one.
    pub async fn icon(&self, client: Client, size: Size, is_maskable: bool) -> Result<Bytes, Error> {
        let fill = async |sources: Arc<Sources>| {
            let instance = self.read_instance(&sources).await?;
            let logo = instance.logo.as_ref().map(|logo| logo.bytes.clone());
            let logo = logo.filter(|_| size.side() <= u32::from(LOGO_SIDE));
            let logo = logo.ok_or(Error::NotFound("this instance has no logo of this size"))?;
            let limits = self.0.settings.image_limits();
            let memory = imaging::probe(&logo, &limits).map_err(Error::internal)?.memory;
            let render = move || imaging::icon(&logo, &limits, size, is_maskable);
            let (_memory, icon) = self.0.ingest.run(client, memory, render).await?;
            Ok(icon.map_err(Error::internal)?.into())
        };
        let sources = self.sources();
        let icon = self.0.caches.icons.get(&sources, (size, is_maskable), fill).await;
        self.settle(&sources, icon).await
    }

    /// Sets these settings; an empty value unsets one. Who may join is changed with a password only.
    pub async fn edit_instance(
        &self,
        actor: &Actor,
        values: Vec<(&'static str, String)>,
    ) -> Result<Arc<Instance>, Error> {
        let instance = self.instance().await?;
        if values.iter().any(|(key, value)| instance.changes_registration(key, value)) {
            actor.check_confirmed()?;
        }
        let mut checked = Vec::with_capacity(values.len());
        for (key, value) in values {
            if !value.is_empty() {
                check_instance_setting(key, &value).map_err(|rule| Error::invalid(key, rule))?;
            }
            checked.push((key, Some(value).filter(|value| !value.is_empty())));
        }
        if !checked.is_empty() {
            let keys: Vec<&str> = checked.iter().map(|(key, _)| *key).collect();
            let audit = self.audit(actor, AuditAction::EditInstance).detail(keys.join(", "));
            audit.logged(Ok(self.0.store.set_instance_settings(checked, audit.clone()).await?))?;
            // It delivers this node's own changes as well.
            self.read_barrier().await?;
        }
        self.instance().await
    }

    /// Replaces the logo by the centre of an image; `None` removes it.
    pub async fn set_logo(
        &self,
        actor: &Actor,
        client: Client,
        image: Option<SpooledFile>,
    ) -> Result<Arc<Instance>, Error> {
        let value = match image {
            Some(image) => Some(STANDARD.encode(self.render_logo(client, image).await?)),
            None => None,
        };
        let audit = self.audit(actor, AuditAction::EditInstance).detail(LOGO_KEY);
        let settings = vec![(LOGO_KEY, value)];
        audit.logged(Ok(self.0.store.set_instance_settings(settings, audit.clone()).await?))?;
        self.read_barrier().await?;
        self.instance().await
    }

    async fn render_logo(&self, client: Client, file: SpooledFile) -> Result<Vec<u8>, Error> {
        let (limits, length) = (self.0.settings.image_limits(), file.length());
        let size = Size::new(LOGO_SIDE).map_err(|rule| Error::invalid(LOGO_KEY, rule))?;
        let field = |error| match error {
            Error::Invalid { rule, .. } => Error::invalid(LOGO_KEY, rule),
            other => other,
        };
        // Its memory is known, and it is read again, only then: a job that waits for memory must hold none.
        let probed = file.clone();
        let probe = move || probed.read().map(|bytes| imaging::probe(&bytes, &limits));
        let (read, probe) =
            self.0.ingest.run(client, length, probe).await.map_err(too_slow).map_err(field)?;
        drop(read);
        let needed = probe.map_err(Error::internal)?.map_err(unreadable).map_err(field)?.memory + length;
        let render =
            move || file.read().map(|bytes| imaging::thumbnail(&bytes, &limits, size, OutputFormat::WebP));
        let rendered = self.0.ingest.run(client, needed, render).await;
        let (_memory, rendered) = rendered.map_err(too_slow).map_err(field)?;
        rendered.map_err(Error::internal)?.map_err(unreadable).map_err(field)
    }
}
