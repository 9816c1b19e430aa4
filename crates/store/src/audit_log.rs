//! The audit log: what moderators, owners and operators have done. The database refuses to change it.

use futures_util::FutureExt;
use model::{Cursor, PostId, Timestamp};

use crate::error::Error;
use crate::lock_key::LockKey;
use crate::statements::{sql, statements};
use crate::store::Store;
use crate::table::{TableRow, table};
use crate::tx::Tx;

table! {
    /// A row of `audit_log`.
    AuditRow = "audit_log", key (id), sequence {
        id: i64,
        created_at: Timestamp,
        actor: String,
        network: Option<String>,
        action: String,
        username: Option<String>,
        post_id: Option<PostId>,
        detail: Option<String>,
    }
}

statements! {
    PAGE = sql!("SELECT ", AuditRow::COLUMN_LIST, " FROM audit_log WHERE id < $1 ORDER BY id DESC LIMIT $2");
    REMOVALS = sql!(
        "SELECT ",
        AuditRow::COLUMN_LIST,
        " FROM audit_log WHERE username = $1 AND created_at >= $2
        AND action IN ('delete_post', 'remove_profile_photo') ORDER BY id DESC LIMIT 20"
    );
    PHOTO_REMOVAL = "SELECT 1 FROM audit_log WHERE username = $1 AND created_at >= $2
        AND action = 'remove_profile_photo' LIMIT 1";
}

/// An entry to append, in the transaction of what it is about.
#[derive(Debug, Clone)]
pub struct NewAuditEntry {
    pub created_at: Timestamp,
    /// A username, or `operator` for the command line.
    pub actor: String,
    /// The network of the request.
    pub network: Option<String>,
    pub action: &'static str,
    /// The user and the post that the action is about.
    pub username: Option<String>,
    pub post_id: Option<PostId>,
    /// The reason, or the new value.
    pub detail: Option<String>,
}

impl Store {
    /// Entries before `before`, newest first, and the cursor of the next page.
    pub async fn audit_log(
        &self,
        before: Option<Cursor>,
        limit: usize,
    ) -> Result<(Vec<AuditRow>, Option<Cursor>), Error> {
        let before = before.map_or(i64::MAX, |cursor| cursor.0);
        let fetched = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
        let (rows, more) = self
            .read(move |tx| {
                async move { tx.page(limit, (PAGE, &[before.into(), fetched.into()]), AuditRow::read).await }
                    .boxed()
            })
            .await?;
        let next = rows.last().filter(|_| more).map(|row| Cursor(row.id));
        Ok((rows, next))
    }

    /// The newest entries about what moderators have removed of a user since `since`. A username may have
    /// belonged to another user before.
    pub async fn removals_of(&self, username: String, since: Timestamp) -> Result<Vec<AuditRow>, Error> {
        self.read(move |tx| {
            async move { tx.all(REMOVALS, &[username.as_str().into(), since.into()], AuditRow::read).await }
                .boxed()
        })
        .await
    }

    /// Whether moderators have removed a profile photo of a user since `since`.
    pub async fn has_photo_removal(&self, username: String, since: Timestamp) -> Result<bool, Error> {
        self.read(move |tx| {
            async move {
                let params = [username.as_str().into(), since.into()];
                Ok(tx.first(PHOTO_REMOVAL, &params, |_| Ok(())).await?.is_some())
            }
            .boxed()
        })
        .await
    }

    /// Appends an entry about something that is no row.
    pub async fn append_to_audit_log(&self, entry: NewAuditEntry) -> Result<(), Error> {
        self.write(LockKey::Unshared, move |tx| async move { append(tx, &entry).await }.boxed()).await
    }
}

pub(crate) async fn append(tx: &mut Tx<'_>, entry: &NewAuditEntry) -> Result<(), Error> {
    let row = AuditRow {
        // Assigned by the sequence.
        id: 0,
        created_at: entry.created_at,
        actor: entry.actor.clone(),
        network: entry.network.clone(),
        action: entry.action.to_owned(),
        username: entry.username.clone(),
        post_id: entry.post_id,
        detail: entry.detail.clone(),
    };
    tx.execute(AuditRow::INSERT_NEW, &row.values()[1..]).await.map(drop)
}
