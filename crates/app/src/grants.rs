//! What a user may grant to others: reset links and invitations. A grant is valid while its maker may make
//! it.

use model::{Role, Status, User};
use store::{Grants, InvitationRow};

use crate::{App, Error};

/// The uses of an invitation.
const MAX_USES: u32 = 10_000;
const MAX_USES_OF_MEMBER: u32 = 10;

impl App {
    pub(crate) async fn grants(&self, user: &User) -> Result<Grants, Error> {
        if user.status != Status::Active {
            return Ok(Grants::NONE);
        }
        let role = self.role(user);
        let invites = role > Role::Member || self.instance().await?.member_invitations;
        let invitation_uses = if invites { max_invitation_uses(role) } else { 0 };
        Ok(Grants { resets: role == Role::Owner, invitation_uses })
    }

    /// Whether the maker of an invitation may make it now; the operator may make all.
    pub(crate) async fn is_granted(
        &self,
        invitation: &InvitationRow,
        maker: Option<&User>,
    ) -> Result<bool, Error> {
        match (invitation.user_id, maker) {
            (None, _) => Ok(true),
            (Some(_), Some(maker)) => Ok(invitation.max_uses <= self.grants(maker).await?.invitation_uses),
            (Some(_), None) => Ok(false),
        }
    }
}

pub(crate) fn max_invitation_uses(role: Role) -> u32 {
    if role == Role::Member { MAX_USES_OF_MEMBER } else { MAX_USES }
}
