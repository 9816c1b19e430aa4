//! What a user may grant to others. What they have granted beyond it ends, in the transaction in which they
//! lose the right.

use model::UserId;

use crate::error::Error;
use crate::statements::statements;
use crate::tx::Tx;

statements! {
    END_RESETS = "DELETE FROM recovery_codes WHERE made_by = $1";
    END_INVITATIONS = "DELETE FROM invitations WHERE user_id = $1 AND max_uses > $2";
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grants {
    /// Whether they may make reset links.
    pub resets: bool,
    /// How often an invitation of theirs may be used; 0 if they may make none.
    pub invitation_uses: u32,
}

impl Grants {
    pub const NONE: Self = Self { resets: false, invitation_uses: 0 };
}

/// Ends what a user has granted beyond what they may grant from now on.
pub(crate) async fn end_beyond(tx: &mut Tx<'_>, user: UserId, grants: Grants) -> Result<(), Error> {
    if !grants.resets {
        tx.execute(END_RESETS, &[user.into()]).await?;
    }
    let most_uses = i64::from(grants.invitation_uses);
    tx.execute(END_INVITATIONS, &[user.into(), most_uses.into()]).await.map(drop)
}
