//! Quotas and counts that a user may reach.

use std::time::Duration;

use model::{Role, Timestamp, UserId};
use store::{
    CreateOutcome, InvitationRow, NewPost, NewUpload, NewUploadOutcome, OverQuota, PartOutcome, PostQuota,
    ProfilePhotoOutcome, Store, UploadCap,
};

use crate::communities::invitation;
use crate::test_database::{NOW, TestDatabase, new_photo, new_post, photo};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) const TWO_A_DAY: PostQuota = PostQuota { bytes: None, posts_per_day: Some(2) };

pub(crate) async fn post_within(
    store: &Store,
    author: UserId,
    number: u8,
    quota: PostQuota,
    now: Timestamp,
) -> CreateOutcome {
    store.claim_photo(photo(number).id, now).await.unwrap();
    store.create_post(NewPost { quota, created_at: now, ..new_post(author, number, None) }).await.unwrap()
}

pub(crate) fn invitation_of(maker: UserId, code: u8) -> InvitationRow {
    InvitationRow { user_id: Some(maker), ..invitation(code, Role::Member, 1) }
}

pub(crate) async fn a_quota_of_posts_counts_deleted_ones_for_a_day(db: TestDatabase) {
    let (ada, bob) = (db.user("ada").await.id, db.user("bob").await.id);
    let post = async |number, now| post_within(&db.store, ada, number, TWO_A_DAY, now).await;
    let later = NOW.plus(Duration::from_secs(60));
    let CreateOutcome::New(first) = post(1, NOW).await else { panic!("the quota is free") };
    assert!(matches!(post(2, later).await, CreateOutcome::New(_)));
    let over = OverQuota::PostsPerDay { max: 2, until: NOW.plus(DAY) };
    assert_eq!(post(3, later).await, CreateOutcome::OverQuota(over));
    assert_eq!(db.count("SELECT count(*) FROM removals").await, 1, "the files of the rejected upload");

    db.store.delete_post(first.id, Some(ada), later, None).await.unwrap();
    assert_eq!(post(4, later).await, CreateOutcome::OverQuota(over));
    assert_eq!(db.store.over_quota(ada, TWO_A_DAY, None, later).await.unwrap(), Some(over));
    assert_eq!(db.store.posts_today(ada, later, 10).await.unwrap(), 2);
    assert_eq!(db.store.over_quota(bob, TWO_A_DAY, None, later).await.unwrap(), None);

    let next_day = NOW.plus(DAY);
    db.store.sweep(next_day, DAY, DAY, DAY).await.unwrap();
    assert_eq!(db.count("SELECT count(*) FROM counted_posts").await, 1);
    assert!(matches!(post(5, next_day).await, CreateOutcome::New(_)));
    assert!(matches!(post(6, next_day).await, CreateOutcome::OverQuota(_)));
}

pub(crate) async fn a_quota_of_bytes_is_not_exceeded(db: TestDatabase) {
    let ada = db.user("ada").await.id;
    // Each photo has 1,000 bytes.
    let quota = PostQuota { bytes: Some(2_500), posts_per_day: None };
    let CreateOutcome::New(first) = post_within(&db.store, ada, 1, quota, NOW).await else {
        panic!("it fits")
    };
    assert!(matches!(post_within(&db.store, ada, 2, quota, NOW).await, CreateOutcome::New(_)));
    let over = CreateOutcome::OverQuota(OverQuota::Bytes { max: 2_500 });
    assert_eq!(post_within(&db.store, ada, 3, quota, NOW).await, over);
    assert_eq!(db.store.over_quota(ada, quota, None, NOW).await.unwrap(), None, "a smaller photo may fit");
    db.store.delete_post(first.id, Some(ada), NOW, None).await.unwrap();
    assert!(matches!(post_within(&db.store, ada, 4, quota, NOW).await, CreateOutcome::New(_)));
}

pub(crate) async fn a_quota_of_bytes_counts_profile_photos_and_parts_of_uploads(db: TestDatabase) {
    let ada = db.user("ada").await.id;
    let max = Some(3_000);
    let quota = PostQuota { bytes: max, posts_per_day: None };
    db.set_profile_photo(ada, 1).await;
    let id = photo(50).id;
    let (content_type, key) = ("multipart/form-data".to_owned(), "key".to_owned());
    let new = NewUpload { id, user: ada, content_type, key, length: None, expires_at: NOW.plus(DAY) };
    let cap = UploadCap { max: 8, replaceable: NOW, delete_at: NOW };
    assert_eq!(db.store.create_upload(new, cap).await.unwrap(), NewUploadOutcome::Created);
    let append = db.store.begin_append(id, ada, 0, None, NOW).await.unwrap().unwrap();
    let add = async |start, end| db.store.add_part(append, (start, end), NOW.plus(DAY), max).await.unwrap();
    let over = OverQuota::Bytes { max: 3_000 };
    assert_eq!(add(0, 1_900).await, PartOutcome::Added);
    assert_eq!(add(1_900, 2_001).await, PartOutcome::OverQuota(over));
    assert_eq!(db.store.stored_bytes(ada).await.unwrap(), 2_900);
    assert_eq!(db.store.posted_bytes(ada).await.unwrap(), 0);

    // A photo replaces the previous one, and that of an upload its parts.
    db.store.claim_photo(photo(2).id, NOW).await.unwrap();
    let set =
        async |number, max| db.store.set_profile_photo(ada, new_photo(number), Some(max), NOW).await.unwrap();
    assert_eq!(set(2, 2_899).await, ProfilePhotoOutcome::OverQuota(OverQuota::Bytes { max: 2_899 }));
    db.store.claim_photo(photo(3).id, NOW).await.unwrap();
    assert!(matches!(set(3, 2_900).await, ProfilePhotoOutcome::Changed(_)));
    assert_eq!(post_within(&db.store, ada, 4, quota, NOW).await, CreateOutcome::OverQuota(over));
    db.store.claim_photo(photo(5).id, NOW).await.unwrap();
    let of_upload = NewPost { quota, upload: Some(id), ..new_post(ada, 5, None) };
    assert!(matches!(db.store.create_post(of_upload).await.unwrap(), CreateOutcome::New(_)));
    db.store.complete_upload(id, NOW.plus(DAY), NOW).await.unwrap();
    assert_eq!(db.store.stored_bytes(ada).await.unwrap(), 2_000);
}

pub(crate) async fn a_maker_has_a_limited_number_of_invitations(db: TestDatabase) {
    let (ada, bob) = (db.user("ada").await.id, db.user("bob").await.id);
    let invite = async |row, max| db.store.create_invitation(row, max, None).await.unwrap();
    for code in 1..=2 {
        assert!(invite(invitation_of(ada, code), Some(2)).await);
    }
    assert!(!invite(invitation_of(ada, 3), Some(2)).await);
    assert!(invite(invitation_of(bob, 4), Some(2)).await, "each maker has a limit of their own");
    assert!(invite(invitation_of(ada, 5), None).await, "moderators have none");
    let later = NOW.plus(Duration::from_secs(60));
    let next = InvitationRow { created_at: later, expires_at: later.plus(DAY), ..invitation_of(ada, 6) };
    assert!(invite(next, Some(2)).await, "expired ones do not count");
}
