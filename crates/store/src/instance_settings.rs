//! What owners set for the whole instance, as keys and values: name, description, registration, quotas.

use futures_util::FutureExt;

use crate::audit_log::{self, NewAuditEntry};
use crate::error::Error;
use crate::key::Key;
use crate::lock_key::LockKey;
use crate::statements::{sql, statements};
use crate::store::Store;
use crate::table::{TableRow, table};

table! {
    /// A row of `instance_settings`.
    InstanceSettingRow = "instance_settings", key (key) {
        key: String,
        value: String,
    }
}

statements! {
    // Few rows, all of which are used.
    ALL_SETTINGS = sql!("SELECT ", InstanceSettingRow::COLUMN_LIST, " FROM instance_settings");
    SET = "INSERT INTO instance_settings (key, value) VALUES ($1, $2)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    UNSET = "DELETE FROM instance_settings WHERE key = $1";
}

impl Store {
    pub async fn instance_settings(&self) -> Result<Vec<InstanceSettingRow>, Error> {
        self.read(|tx| tx.all(ALL_SETTINGS, &[], InstanceSettingRow::read).boxed()).await
    }

    /// Sets these keys; `None` unsets one. Others stay as they are.
    pub async fn set_instance_settings(
        &self,
        values: Vec<(&'static str, Option<String>)>,
        audit: NewAuditEntry,
    ) -> Result<(), Error> {
        self.write(LockKey::Unshared, move |tx| {
            async move {
                for (key, value) in &values {
                    match value {
                        Some(value) => tx.execute(SET, &[(*key).into(), value.as_str().into()]).await?,
                        None => tx.execute(UNSET, &[(*key).into()]).await?,
                    };
                }
                tx.publish(Key::INSTANCE);
                audit_log::append(tx, &audit).await
            }
            .boxed()
        })
        .await
    }
}
