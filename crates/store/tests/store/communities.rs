//! Roles, suspensions, blocks, invitations, and the deletion of accounts.

use std::sync::Arc;
use std::time::Duration;

use model::{
    Cursor, FeedStart, Limit, PostFilter, PostId, Reason, Role, Status, TokenHash, UserFilter, UserId,
};
use store::{
    AccessCheck, BlockOutcome, CreateOutcome, DeletionOutcome, Exclusions, FeedRequest, Grants, HiddenUsers,
    InvitationRow, JoinOutcome, Judge, LikeOutcome, NewAuditEntry, NewReport, NewUser, ProfilePhotoOutcome,
    Relations, ReportOutcome, ResolveOutcome, RoleOutcome,
};

use crate::test_database::{NOW, TestDatabase, feed, new_photo, new_post, photo, seed, session};

pub(crate) fn audit(action: &'static str) -> NewAuditEntry {
    NewAuditEntry {
        created_at: NOW,
        actor: "grace".into(),
        network: Some("192.0.2.0/24".into()),
        action,
        username: Some("ada".into()),
        post_id: None,
        detail: None,
    }
}

pub(crate) fn reason(text: &str) -> Reason {
    Reason::parse(text.into()).unwrap().unwrap()
}

pub(crate) fn invitation(code: u8, role: Role, max_uses: u32) -> InvitationRow {
    let expires_at = NOW.plus(Duration::from_secs(60));
    let code_hash = TokenHash([code; 32]);
    InvitationRow { code_hash, user_id: None, role, uses: 0, max_uses, created_at: NOW, expires_at }
}

pub(crate) async fn a_deleted_account_is_hidden_at_once_and_then_removed(db: TestDatabase) {
    let (ada, bob) = (db.user("ada").await.id, db.user("bob").await.id);
    let (first, second) = (db.post(ada, 1).await, db.post(ada, 2).await.id);
    let others = db.post(bob, 3).await.id;
    db.set_profile_photo(ada, 50).await;
    for (user, post) in [(ada, others), (ada, second), (bob, first.id)] {
        db.store.like(user, post, NOW).await.unwrap();
    }
    db.store.block(bob, ada, NOW).await.unwrap();

    let wrong = db.store.mark_deleted(ada, Some("another hash".into()), NOW, None).await.unwrap();
    assert_eq!(wrong, DeletionOutcome::PasswordChanged);
    let marked = db.store.mark_deleted(ada, Some("hash".into()), NOW, None).await.unwrap();
    assert_eq!(marked, DeletionOutcome::Marked(Some(photo(50).id)));
    assert_eq!(db.store.mark_deleted(ada, None, NOW, None).await.unwrap(), DeletionOutcome::Missing);
    assert!(db.store.user(&"ada".parse().unwrap()).await.unwrap().is_none());
    assert!(db.store.credentials(&"ada".parse().unwrap()).await.unwrap().is_none());
    assert!(db.store.session(session(seed("ada")).token).await.unwrap().is_none());
    assert_eq!(db.store.hidden_users().await.unwrap(), HiddenUsers([ada].into()));
    assert_eq!(db.store.relations(bob).await.unwrap(), Relations::default());
    assert!(db.store.photo_with_owner(first.photo.id).await.unwrap().is_none());

    // What was in progress changes nothing.
    assert_ne!(db.store.like(ada, first.id, NOW).await.unwrap(), LikeOutcome::Changed);
    db.store.claim_photo(photo(4).id, NOW).await.unwrap();
    let created = db.store.create_post(new_post(ada, 4, None)).await.unwrap();
    assert_eq!(created, CreateOutcome::AuthorInactive);
    db.store.claim_photo(photo(5).id, NOW).await.unwrap();
    let rejected = db.store.set_profile_photo(ada, new_photo(5), None, NOW).await.unwrap();
    assert_eq!(rejected, ProfilePhotoOutcome::Rejected);

    // The name is free, while the rows are deleted.
    let other = db.store.join(NewUser::new("ADA".parse().unwrap(), "x".into(), NOW), session(99), None);
    assert!(matches!(other.await.unwrap(), JoinOutcome::Joined(_)));
    assert_eq!(db.store.deleted_users().await.unwrap(), [ada]);
    assert!(!db.store.finish_deletion(ada).await.unwrap(), "it still has posts");
    assert_eq!(db.store.posts_to_delete(ada, 9).await.unwrap(), [first.id, second]);
    for post in [first.id, second] {
        db.store.delete_post(post, None, NOW, None).await.unwrap();
    }
    assert!(!db.store.finish_deletion(ada).await.unwrap(), "it still has likes");
    assert_eq!(db.store.likes_to_delete(ada, 9).await.unwrap(), [others]);
    db.store.unlike(ada, others).await.unwrap();
    assert_eq!(db.store.post(others, None).await.unwrap().unwrap().like_count, 0);
    // On PostgreSQL it waits for older transactions, which may be those of the autovacuum.
    let finished = async {
        while !db.store.finish_deletion(ada).await.unwrap() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), finished).await.expect("the deletion is finished");
    assert!(
        db.store.author(ada).await.unwrap().is_none() && db.store.deleted_users().await.unwrap().is_empty()
    );
    assert_eq!(db.store.integrity_errors().await.unwrap(), Vec::<String>::new());
    assert_eq!(db.store.unreferenced_photos().await.unwrap(), []);
}

pub(crate) async fn pages_and_offsets_leave_out_what_is_excluded(db: TestDatabase) {
    let (ada, bob, carol) = (db.user("ada").await.id, db.user("bob").await.id, db.user("carol").await.id);
    let mut posts = Vec::new();
    for number in 1..=30 {
        let author = [ada, bob, carol][usize::from(number) % 3];
        posts.push((db.post(author, number).await.id, author));
    }
    for (post, _) in &posts {
        db.store.like(ada, *post, NOW).await.unwrap();
    }
    posts.reverse();
    let hidden_by_moderator = posts[7].0;
    db.store.set_post_hidden(hidden_by_moderator, Some(reason("spam")), audit("hide_post")).await.unwrap();
    let relations =
        Relations { blocked: [bob].into(), hidden_posts: [posts[4].0].into(), ..Relations::default() };
    let exclusions = Exclusions { relations: Arc::new(relations), ..Exclusions::default() };
    let hidden = Exclusions { hidden_users: Arc::new(HiddenUsers([carol].into())), ..Exclusions::default() };
    for exclusions in [Exclusions::default(), exclusions, hidden] {
        let tagged = PostFilter::Tagged("post".parse().unwrap());
        for filter in [PostFilter::Any, PostFilter::By(ada), PostFilter::LikedBy(ada), tagged] {
            let is_shown = |post: PostId, author: UserId| {
                post != hidden_by_moderator
                    && !exclusions.excludes_post(post, author)
                    && (filter != PostFilter::By(ada) || author == ada)
            };
            let expected: Vec<PostId> = posts
                .iter()
                .filter(|(post, author)| is_shown(*post, *author))
                .map(|(post, _)| *post)
                .collect();
            let page = async |start: FeedStart| {
                let limit: Limit = "4".parse().unwrap();
                let page = feed(&db.store, Some(ada), filter.clone(), start, limit, &exclusions).await;
                assert!(page.posts.iter().all(|post| post.is_liked), "{filter:?}");
                (page.posts.iter().map(|post| post.id).collect::<Vec<_>>(), page.next)
            };
            let (mut read, mut start): (Vec<PostId>, _) = (Vec::new(), Some(FeedStart::Offset(0)));
            while let Some(at) = start {
                let (posts, next) = page(at).await;
                assert_eq!(posts, expected[read.len()..expected.len().min(read.len() + 4)], "{filter:?}");
                read.extend(posts);
                start = next.map(FeedStart::After);
            }
            assert_eq!(read, expected, "{filter:?} {exclusions:?}");
            for offset in 0..=expected.len() {
                let (posts, _) = page(FeedStart::Offset(offset as u64)).await;
                assert_eq!(posts, expected[offset..expected.len().min(offset + 4)], "{filter:?} {offset}");
            }
        }
    }
}

pub(crate) async fn a_page_reads_a_bounded_number_of_excluded_posts(db: TestDatabase) {
    let (ada, bob) = (db.user("ada").await.id, db.user("bob").await.id);
    let oldest = db.post(bob, 1).await.id;
    db.insert_many_posts();
    let db = db.reopen().await;
    let hidden_users = Arc::new(HiddenUsers([ada].into()));
    let exclusions = Exclusions { hidden_users, ..Exclusions::default() };
    let (mut found, mut pages, mut start) = (Vec::new(), 0, Some(FeedStart::Offset(0)));
    while let Some(at) = start {
        let page = feed(&db.store, None, PostFilter::Any, at, Limit::default(), &exclusions).await;
        found.extend(page.posts.iter().map(|post| post.id));
        (pages, start) = (pages + 1, page.next.map(FeedStart::After));
    }
    assert_eq!((found, pages), (vec![oldest], 2));
    let at = FeedStart::Offset(1);
    assert!(feed(&db.store, None, PostFilter::Any, at, Limit::default(), &exclusions).await.posts.is_empty());
    for start in [FeedStart::Offset(0), at] {
        let (filter, limit, exclusions) = (PostFilter::Any, Limit::default(), exclusions.clone());
        let request = FeedRequest { viewer: None, filter, start, limit, exclusions };
        assert!(db.store.short_feed(request).await.unwrap().is_none(), "{start:?} is a long read");
    }
}

pub(crate) async fn a_hidden_post_cannot_be_liked_and_its_photo_is_not_shown(db: TestDatabase) {
    let (ada, bob) = (db.user("ada").await.id, db.user("bob").await.id);
    let post = db.post(ada, 1).await;
    db.store.like(ada, post.id, NOW).await.unwrap();
    let hidden = db.store.set_post_hidden(post.id, Some(reason("spam")), audit("hide_post")).await.unwrap();
    assert_eq!(hidden, AccessCheck::Granted(post.photo.id));
    assert_eq!(db.store.like(bob, post.id, NOW).await.unwrap(), LikeOutcome::NoSuchPost);
    assert_eq!(db.store.unlike(ada, post.id).await.unwrap(), LikeOutcome::Changed);
    assert!(!db.store.photo_with_owner(post.photo.id).await.unwrap().unwrap().1.is_shown);
    assert_eq!(db.store.hidden_posts_by(ada).await.unwrap(), [(post.id, reason("spam"))]);
    db.store.set_post_hidden(post.id, None, audit("show_post")).await.unwrap();
    assert_eq!(db.store.like(bob, post.id, NOW).await.unwrap(), LikeOutcome::Changed);
    assert!(db.store.photo_with_owner(post.photo.id).await.unwrap().unwrap().1.is_shown);
    assert_eq!(
        db.store.set_post_hidden(PostId(99), None, audit("show_post")).await.unwrap(),
        AccessCheck::Missing
    );
    let (log, next) = db.store.audit_log(None, 2).await.unwrap();
    let actions: Vec<&str> = log.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!((actions, next), (vec!["show_post", "hide_post"], None));
    assert_eq!(db.store.audit_log(Some(Cursor(log[0].id)), 1).await.unwrap().0, [log[1].clone()]);
}

pub(crate) async fn an_instance_keeps_an_owner_and_an_audit_log(db: TestDatabase) {
    let (ada, bob) = (db.user("ada").await.id, db.user("bob").await.id);
    assert!(!db.store.has_owner().await.unwrap());
    let set_role =
        async |user, role| db.store.set_role(user, role, Grants::NONE, audit("set_role")).await.unwrap();
    assert_eq!(set_role(ada, Role::Owner).await, RoleOutcome::Changed);
    assert!(db.store.has_owner().await.unwrap());
    assert_eq!(set_role(ada, Role::Member).await, RoleOutcome::LastOwner);
    let suspended = async |user, status| {
        let spam = Some(reason("spam"));
        db.store.set_status(user, status, spam, Grants::NONE, audit("suspend")).await.unwrap()
    };
    assert_eq!(suspended(ada, Status::Suspended).await, RoleOutcome::LastOwner);
    assert_eq!(db.store.mark_deleted(ada, None, NOW, None).await.unwrap(), DeletionOutcome::LastOwner);
    assert_eq!(set_role(bob, Role::Owner).await, RoleOutcome::Changed);
    assert_eq!(set_role(ada, Role::Member).await, RoleOutcome::Changed);
    assert_eq!(suspended(ada, Status::Hidden).await, RoleOutcome::Changed);
    assert_eq!(db.store.status_reason(ada).await.unwrap(), Some(reason("spam")));
    let filter = UserFilter { status: Some(Status::Hidden), ..UserFilter::default() };
    let (hidden, _) = db.store.users(filter, &[], i64::MAX, 9).await.unwrap();
    let hidden: Vec<_> = hidden.iter().map(|record| (record.user.id, record.user.role)).collect();
    assert_eq!(hidden, [(ada, Role::Member)]);
    // What was refused is not in the log, and what is in it stays.
    assert_eq!(db.store.audit_log(None, 9).await.unwrap().0.len(), 4);
    for sql in ["DELETE FROM audit_log", "UPDATE audit_log SET actor = 'x'"] {
        let mut execute = db.execute_directly(sql);
        let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(&mut execute));
        assert!(refused.is_err(), "{sql}");
    }
    assert_eq!(db.store.audit_log(None, 9).await.unwrap().0.len(), 4);
}

pub(crate) async fn an_invitation_is_used_as_often_as_it_says(db: TestDatabase) {
    db.store.create_invitation(invitation(1, Role::Moderator, 2), None, Some(audit("invite"))).await.unwrap();
    let join = async |name: &str, code: u8, after: u64| {
        let at = NOW.plus(Duration::from_secs(after));
        let new = NewUser::new(name.parse().unwrap(), "hash".into(), at);
        db.store.join(new, session(seed(name)), Some(TokenHash([code; 32]))).await.unwrap()
    };
    let joined = |outcome: JoinOutcome| match outcome {
        JoinOutcome::Joined(user) => Some(user.role),
        _ => None,
    };
    assert_eq!(join("ada", 2, 0).await, JoinOutcome::InvalidInvitation, "unknown");
    assert_eq!(join("ada", 1, 61).await, JoinOutcome::InvalidInvitation, "expired");
    assert_eq!(joined(join("ada", 1, 0).await), Some(Role::Moderator));
    assert_eq!(join("ADA", 1, 0).await, JoinOutcome::UsernameTaken, "not counted");
    assert_eq!(joined(join("bob", 1, 0).await), Some(Role::Moderator));
    assert_eq!(join("carol", 1, 0).await, JoinOutcome::InvalidInvitation, "used up");

    // The link of any start makes the owner, and none after that.
    for code in [3, 4] {
        db.store.create_invitation(invitation(code, Role::Owner, 1), None, None).await.unwrap();
    }
    assert_eq!(joined(join("carol", 4, 0).await), Some(Role::Owner));
    assert_eq!(join("dave", 3, 0).await, JoinOutcome::InvalidInvitation);
    let left = db.store.invitations(None, NOW).await.unwrap();
    assert_eq!(left.iter().map(|row| (row.uses, row.max_uses)).collect::<Vec<_>>(), [(2, 2)]);
    let id = left[0].code_hash.session_id();
    assert!(db.store.delete_invitation(None, id, false, NOW, None).await.unwrap());
    assert!(!db.store.delete_invitation(None, id, false, NOW, None).await.unwrap());
}

pub(crate) async fn blocks_and_reports_are_stored_once(db: TestDatabase) {
    let (ada, bob) = (db.user("ada").await.id, db.user("bob").await.id);
    let post = db.post(bob, 1).await.id;
    for _ in 0..2 {
        assert_eq!(db.store.block(ada, bob, NOW).await.unwrap(), BlockOutcome::Done);
        assert_eq!(db.store.hide_for(ada, post, NOW).await.unwrap(), BlockOutcome::Done);
    }
    let relations = db.store.relations(ada).await.unwrap();
    assert_eq!((relations.blocked, relations.hidden_posts), ([bob].into(), [post].into()));
    assert_eq!(db.store.relations(bob).await.unwrap().blocked_by, [ada].into());
    assert_eq!(db.store.blocked_users(ada).await.unwrap().len(), 1);
    db.store.unblock(ada, bob).await.unwrap();
    db.store.unhide_for(ada, post).await.unwrap();
    assert_eq!(db.store.relations(ada).await.unwrap(), Relations::default());

    let report = |post| NewReport { reporter: ada, user: bob, post, reason: reason("rude"), created_at: NOW };
    let file = async |post| db.store.report(report(post)).await.unwrap();
    assert_eq!(file(Some(post)).await, ReportOutcome::Filed);
    assert_eq!(file(None).await, ReportOutcome::Filed, "of the user");
    assert_eq!(file(Some(post)).await, ReportOutcome::Repeated);
    let (open, next) = db.store.reports(&Judge::Owner, false, None, 1).await.unwrap();
    assert_eq!((open[0].post_id, next.is_some()), (None, true));
    let resolve =
        async |id| db.store.resolve_report(id, "done".into(), audit("resolve_report")).await.unwrap();
    assert_eq!(resolve(open[0].id).await, ResolveOutcome::Resolved);
    assert_eq!(resolve(open[0].id).await, ResolveOutcome::AlreadyResolved);
    assert_eq!(resolve(model::ReportId(99)).await, ResolveOutcome::Missing);
    let (resolved, _) = db.store.reports(&Judge::Owner, true, None, 9).await.unwrap();
    assert_eq!(resolved.len(), 1);
    assert_eq!(file(None).await, ReportOutcome::Filed, "after the first was resolved");
    for number in 100..198 {
        assert_eq!(file(Some(PostId(number))).await, ReportOutcome::Filed, "{number}");
    }
    assert_eq!(file(Some(PostId(99))).await, ReportOutcome::TooMany);
}

pub(crate) async fn a_moderator_sees_no_reports_about_themselves_and_owners(db: TestDatabase) {
    let mut users = Vec::new();
    for name in ["ada", "bob", "carol", "dave", "eve"] {
        users.push(db.user(name).await.id);
    }
    let [ada, bob, carol, dave, eve] = users[..] else { unreachable!("five users") };
    for (user, role) in [(bob, Role::Moderator), (carol, Role::Moderator), (dave, Role::Owner)] {
        db.store.set_role(user, role, Grants::NONE, audit("set_role")).await.unwrap();
    }
    for user in [bob, carol, dave, eve] {
        let reason = reason("rude");
        let new = NewReport { reporter: ada, user, post: None, reason, created_at: NOW };
        assert_eq!(db.store.report(new).await.unwrap(), ReportOutcome::Filed);
    }
    let moderator = |user, owners: &[&str]| Judge::Moderator {
        user,
        owners: owners.iter().map(|name| name.parse().unwrap()).collect(),
    };
    let (all, _) = db.store.reports(&Judge::Owner, false, None, 9).await.unwrap();
    for (judge, seen) in [
        (Judge::Owner, vec![eve, dave, carol, bob]),
        (moderator(bob, &[]), vec![eve, carol]),
        (moderator(carol, &[]), vec![eve, bob]),
        (moderator(carol, &["Eve", "frank"]), vec![bob]),
    ] {
        let (reports, next) = db.store.reports(&judge, false, None, seen.len()).await.unwrap();
        assert_eq!((reports.iter().map(|row| row.user_id).collect::<Vec<_>>(), next), (seen.clone(), None));
        for report in &all {
            let found = db.store.find_report(&judge, report.id).await.unwrap();
            assert_eq!(found.is_some(), seen.contains(&report.user_id), "{judge:?}");
        }
    }
}

pub(crate) async fn what_moderators_removed_is_known_to_imports(db: TestDatabase) {
    let (ada, bob) = (db.user("ada").await.id, db.user("bob").await.id);
    let [own, deleted, hidden] = [db.post(ada, 1).await, db.post(ada, 2).await, db.post(ada, 3).await];
    db.store.delete_post(own.id, Some(ada), NOW, None).await.unwrap();
    db.store.delete_post(deleted.id, None, NOW, Some(audit("delete_post"))).await.unwrap();
    db.store.set_post_hidden(hidden.id, Some(reason("rude")), audit("hide_post")).await.unwrap();
    db.store.delete_post(hidden.id, Some(ada), NOW, None).await.unwrap();
    for (post, is_known) in [(own, false), (deleted, true), (hidden, true)] {
        assert_eq!(db.store.has_imported(ada, post.photo.id).await.unwrap(), is_known, "{post:?}");
        assert!(!db.store.has_imported(bob, post.photo.id).await.unwrap(), "only for its author");
    }
}
