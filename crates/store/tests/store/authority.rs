//! Authority that ends: access to an account, and what a user has granted to others.

use std::time::Duration;

use model::{TokenHash, UserId};
use store::RecoveryCodeRow;

use crate::communities::audit;
use crate::test_database::{NOW, TestDatabase, session};

fn reset_link(code: u8, user_id: UserId) -> RecoveryCodeRow {
    let (code_hash, expires_at) = (TokenHash([code; 32]), Some(NOW.plus(Duration::from_secs(60))));
    RecoveryCodeRow { code_hash, user_id, created_at: NOW, expires_at }
}

async fn opens(db: &TestDatabase, user: UserId, code: u8) -> bool {
    db.store.has_recovery_code(user, TokenHash([code; 32]), NOW).await.unwrap()
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
