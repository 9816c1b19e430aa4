//! The instance as its owners describe it. Stored in the database, so that all nodes share it.

use std::sync::Arc;

use crate::actor::Audited;
use crate::instance_settings::{Instance, KEYS, check_instance_setting};
use crate::{Actor, App, Error};

impl App {
    /// The names of the settings of an instance.
    pub fn instance_keys() -> impl Iterator<Item = &'static str> {
        KEYS.iter().map(|(key, _)| *key)
    }

    pub async fn instance(&self) -> Result<Arc<Instance>, Error> {
        let fill = async || {
            let rows = self.0.store.instance_settings().await?;
            self.await_published().await?;
            let values = rows.into_iter().map(|row| (row.key, row.value)).collect();
            Ok(Arc::new(Instance::from_values(&values)))
        };
        self.0.caches.instance.get_or_fill((), fill).await
    }

    /// Sets these settings; an empty value unsets one.
    pub async fn edit_instance(
        &self,
        actor: &Actor,
        values: Vec<(&'static str, String)>,
    ) -> Result<Arc<Instance>, Error> {
        let mut checked = Vec::with_capacity(values.len());
        for (key, value) in values {
            if !value.is_empty() {
                check_instance_setting(key, &value).map_err(|rule| Error::invalid(key, rule))?;
            }
            checked.push((key, Some(value).filter(|value| !value.is_empty())));
        }
        if !checked.is_empty() {
            let keys: Vec<&str> = checked.iter().map(|(key, _)| *key).collect();
            let audit = self.audit(actor, "edit_instance").detail(keys.join(", "));
            self.0.store.set_instance_settings(checked, audit).await?;
        }
        self.instance().await
    }
}
