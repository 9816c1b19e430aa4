//! Authority that ends: access to an account, and what a user has granted to others.

use std::time::Duration;

use model::{Role, Status, TokenHash, UserId};
use store::{DeletionOutcome, Grants, InvitationRow, NewUser, RecoveryCodeRow, RoleOutcome};

use crate::communities::{audit, invitation, reason};
use crate::test_database::{NOW, TestDatabase, session};

fn reset_link(code: u8, user_id: UserId) -> RecoveryCodeRow {
    let (code_hash, expires_at) = (TokenHash([code; 32]), Some(NOW.plus(Duration::from_secs(60))));
    RecoveryCodeRow { code_hash, user_id, created_at: NOW, expires_at, made_by: None }
}

async fn opens(db: &TestDatabase, user: UserId, code: u8) -> bool {
    db.store.recovery_code(user, TokenHash([code; 32]), NOW).await.unwrap().is_some()
}

pub(crate) async fn a_new_password_a_reset_and_a_recovery_end_all_other_access(db: TestDatabase) {
    let ada = db.user("ada").await.id;
    let reset = async |code| db.store.reset_password(reset_link(code, ada), audit("reset")).await.unwrap();
    let make_codes = async |hash: &str, codes: [u8; 2]| {
        let codes = codes.map(|code| TokenHash([code; 32])).into();
        db.store.replace_recovery_codes(ada, hash.into(), codes, NOW).await.unwrap()
    };
    let is_open = async |seed| db.store.session(session(seed).token).await.unwrap().is_some();
    let start = async |hash: &str, seed| {
        assert!(db.store.start_session(ada, hash.into(), session(seed)).await.unwrap());
    };

    // A reset.
    start("hash", 1).await;
    assert!(make_codes("hash", [1, 2]).await);
    reset(3).await;
    assert!(!is_open(1).await && !opens(&db, ada, 1).await && opens(&db, ada, 3).await);
    reset(4).await;
    assert!(!opens(&db, ada, 3).await && opens(&db, ada, 4).await);
    // A new password.
    start("hash", 2).await;
    start("hash", 3).await;
    let kept = session(2).token;
    assert!(db.store.change_password(ada, "hash".into(), "new".into(), kept).await.unwrap());
    assert!(is_open(2).await && !is_open(3).await && !opens(&db, ada, 4).await);
    // A recovery.
    assert!(make_codes("new", [5, 6]).await);
    let recover =
        async |code, seed| db.store.recover(ada, TokenHash([code; 32]), "newer".into(), session(seed)).await;
    assert!(recover(5, 4).await.unwrap());
    assert!(is_open(4).await && !is_open(2).await && !opens(&db, ada, 6).await);
    assert!(!recover(6, 5).await.unwrap());
}

pub(crate) async fn what_a_user_has_granted_ends_with_the_right_to_grant_it(db: TestDatabase) {
    let (ada, bob) = (db.user("ada").await.id, db.user("bob").await.id);
    db.store.set_role(bob, Role::Owner, Grants::NONE, audit("set_role")).await.unwrap();
    let grant = async || {
        let link = RecoveryCodeRow { made_by: Some(ada), ..reset_link(1, bob) };
        db.store.reset_password(link, audit("reset")).await.unwrap();
        for (code, max_uses) in [(2, 10), (3, 11)] {
            let new = InvitationRow { user_id: Some(ada), ..invitation(code, Role::Member, max_uses) };
            db.store.create_invitation(new, None, None).await.unwrap();
        }
    };
    let left = async || {
        let invitations = db.store.invitations(Some(ada), NOW).await.unwrap();
        let mut uses: Vec<u32> = invitations.iter().map(|row| row.max_uses).collect();
        uses.sort_unstable();
        (opens(&db, bob, 1).await, uses)
    };
    grant().await;
    let all = Grants { resets: true, invitation_uses: 11 };
    db.store.set_role(ada, Role::Owner, all, audit("set_role")).await.unwrap();
    assert_eq!(left().await, (true, vec![10, 11]));
    let few = Grants { resets: false, invitation_uses: 10 };
    db.store.set_role(ada, Role::Member, few, audit("set_role")).await.unwrap();
    assert_eq!(left().await, (false, vec![10]));
    db.store.set_role(ada, Role::Member, Grants::NONE, audit("set_role")).await.unwrap();
    assert_eq!(left().await, (false, vec![]));

    grant().await;
    let spam = Some(reason("spam"));
    let suspended = db.store.set_status(ada, Status::Suspended, spam, Grants::NONE, audit("suspend")).await;
    assert_eq!((suspended.unwrap(), left().await), (RoleOutcome::Changed, (false, vec![])));
    grant().await;
    let deleted = db.store.mark_deleted(ada, None, NOW, None).await.unwrap();
    assert_eq!((deleted, left().await), (DeletionOutcome::Marked(None), (false, vec![])));
}

pub(crate) async fn the_name_of_a_suspended_or_banned_account_is_held(db: TestDatabase) {
    let suspend = async |name: &str, status| {
        let user = db.user(name).await.id;
        let spam = Some(reason("spam"));
        db.store.set_status(user, status, spam, Grants::NONE, audit("suspend")).await.unwrap();
        user
    };
    let ada = suspend("ada", Status::Suspended).await;
    let bob = suspend("bob", Status::Hidden).await;
    let (carol, dan) = (db.user("carol").await.id, db.user("dan").await.id);
    // With a password the user deletes the account, else an owner.
    let own = || Some("hash".to_owned());
    for (user, password_hash) in [(ada, own()), (bob, None), (carol, own()), (dan, None)] {
        db.store.mark_deleted(user, password_hash, NOW, None).await.unwrap();
        db.finish_deletion(user).await;
    }
    for name in ["ada", "ADA", "bob", "dan"] {
        assert_eq!(db.join(name).await, None, "{name}");
    }
    assert_eq!(db.count("SELECT count(*) FROM users").await, 0);
    assert!(db.join("carol").await.is_some());

    let add = async |name: &str| {
        let new = NewUser::new(name.parse().unwrap(), "hash".into(), NOW);
        db.store.add_user(new, TokenHash([9; 32]), NOW, audit("add_user")).await.unwrap()
    };
    let ada = add("Ada").await.unwrap().id;
    assert_eq!(add("ada").await, None);
    db.store.mark_deleted(ada, own(), NOW, None).await.unwrap();
    assert!(db.join("ada").await.is_some());
    assert_eq!(db.join("bob").await, None);
}
