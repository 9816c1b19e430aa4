//! Everything a database knows, given away and taken in by another, and held against itself.

use std::ops::ControlFlow;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use model::{PhotoId, PostId, Token, UserId};
use store::{Arrival, Created, Error, Fact, NewSession, NewUser, Sink, Store, Table};

use crate::case::{Case, LONG_AGO, NOW, Place, new_post, photo};

/// Keeps what it is given, up to so many.
struct Kept {
    facts: Vec<Fact>,
    enough: usize,
}

impl Sink for Kept {
    fn take(&mut self, fact: Fact) -> ControlFlow<()> {
        self.facts.push(fact);
        if self.facts.len() == self.enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

async fn facts(store: &Store) -> Vec<Fact> {
    store.export(Kept { facts: Vec::new(), enough: usize::MAX }).await.unwrap().facts
}

/// A bit of everything: members with and without faces, posts, likes, keys, and ids that were handed out in vain.
async fn live(case: &Case) {
    let (ada, bob) = (case.user("Ada").await, case.user("bob").await);
    case.portrait(ada.id, 50).await;
    let post = case.post(ada.id, 1).await;
    case.store.claim_photo(photo(2).id, NOW).await.unwrap();
    case.store.create_post(new_post(bob.id, 2, Some("k"))).await.unwrap();
    for user in [ada.id, bob.id] {
        case.store.like(user, post.id, NOW).await.unwrap();
    }
    let gone = case.post(bob.id, 3).await;
    case.store.delete_post(gone.id, None, NOW).await.unwrap();
    case.store.claim_photo(photo(4).id, NOW).await.unwrap();
}

pub(crate) async fn what_one_database_gives_away_another_takes_in(case: Case) {
    live(&case).await;
    for new in [Case::on_sqlite().await, Case::on_postgres().await] {
        assert_moves(&case, new).await;
    }
}

async fn assert_moves(old: &Case, new: Case) {
    let before = facts(&old.store).await;
    let tables: Vec<Table> = before.iter().map(Fact::table).collect();
    assert!(tables.is_sorted() && Table::ALL.iter().all(|table| tables.contains(table)), "{tables:?}");

    // Nothing comes in without its bytes, and a failure leaves nothing.
    let bring = async |facts: Vec<Fact>| new.store.import(Arrival::Claimed, facts.into_iter().map(Ok)).await;
    let refused = bring(before.clone()).await.unwrap_err();
    assert!(matches!(refused, Error::Refused(_)), "{refused}");
    let photos = before.iter().filter_map(|fact| match fact {
        Fact::Photo(photo) => Some(photo.id),
        _ => None,
    });
    let photos: Vec<PhotoId> = photos.collect();
    for _ in 0..2 {
        new.store.claim_photos(photos.clone(), NOW).await.unwrap();
    }
    let broken = before.iter().cloned().map(Ok).chain([Err(Error::Refused("on purpose".into()))]);
    new.store.import(Arrival::Claimed, broken.collect::<Vec<_>>().into_iter()).await.unwrap_err();
    let census = new.store.census().await.unwrap();
    assert!(census.is_empty() && census.claims == 3, "{census:?}");

    let census = bring(before.clone()).await.unwrap();
    assert_eq!((census.users, census.posts, census.photos, census.likes), (2, 2, 3, 2));
    assert_eq!((census.sessions, census.keys, census.claims, census.removals), (2, 1, 0, 0));
    assert_eq!(facts(&new.store).await, before);
    let refused = bring(before).await.unwrap_err();
    assert!(refused.to_string().contains("not empty"), "{refused}");

    // Bytes that stay where they are need no claim.
    let beside = Case::on_sqlite().await;
    let facts_again = facts(&old.store).await.into_iter().map(Ok);
    assert_eq!(beside.store.import(Arrival::Unmoved, facts_again).await.unwrap(), census);

    // The id of the deleted post is not handed out again.
    let ada = new.store.user(&"ada".parse().unwrap()).await.unwrap().unwrap();
    assert_eq!(new.post(ada.id, 9).await.id, PostId(4));
    assert_eq!(new.user("carol").await.id, UserId(3));
}

pub(crate) async fn a_sink_that_has_enough_gets_no_more(case: Case) {
    live(&case).await;
    let few = case.store.export(Kept { facts: Vec::new(), enough: 2 }).await.unwrap().facts;
    assert_eq!(few, facts(&case.store).await[..2]);
}

pub(crate) async fn what_is_brought_in_again_is_not_to_be_removed(case: Case) {
    let (author, later) = (case.user("ada").await.id, NOW.plus(Duration::from_secs(1)));
    let gone = case.post(author, 1).await.photo.id;
    case.store.delete_post(PostId(1), None, NOW).await.unwrap();
    let collected = case.store.removals(later).await.unwrap();
    assert_eq!(collected, [gone]);
    assert!(case.store.still_to_remove(gone).await.unwrap());
    // Before it is its turn, a restore claims it, and makes it a photo.
    case.store.claim_photos(collected, later).await.unwrap();
    assert!(!case.store.still_to_remove(gone).await.unwrap());
    assert!(matches!(case.store.create_post(new_post(author, 1, None)).await.unwrap(), Created::New(_)));
    assert!(!case.store.still_to_remove(gone).await.unwrap());

    // A note beside a row or a claim is wrong: what somebody has or brings is not taken away.
    case.store.claim_photo(photo(2).id, NOW).await.unwrap();
    case.meddle(
        "INSERT INTO removals (photo_id, since)
            SELECT id, 5 FROM photos UNION ALL SELECT photo_id, 5 FROM uploads",
    )();
    let noted = case.store.removals(later).await.unwrap();
    assert_eq!(noted.len(), 2);
    for photo in noted {
        assert!(!case.store.still_to_remove(photo).await.unwrap(), "{photo}");
    }
}

/// One of many, with a session that nobody else has.
pub(crate) async fn join(store: &Store, number: u16) -> i64 {
    let username = format!("user{number}").parse().unwrap();
    let new = NewUser { username, password_hash: "hash".into(), created_at: NOW };
    let mut token = [0; 32];
    token[..2].copy_from_slice(&number.to_be_bytes());
    let session = NewSession { token: Token::new(token).hash(), started_at: NOW };
    store.join(new, session).await.unwrap().unwrap().id.0
}

/// Writes to the database in the middle of an export.
struct Meddler<F> {
    meddle: F,
    seen: Vec<Fact>,
}

impl<F: FnMut() + Send + 'static> Sink for Meddler<F> {
    fn take(&mut self, fact: Fact) -> ControlFlow<()> {
        if self.seen.is_empty() {
            (self.meddle)();
        }
        self.seen.push(fact);
        ControlFlow::Continue(())
    }
}

pub(crate) async fn many_pages_of_facts_are_those_of_one_moment(case: Case) {
    let ada = case.user("ada").await.id;
    let mut members: Vec<i64> = join_all((0..600).map(|n| join(&case.store, n))).await;
    members.push(ada.0);
    members.sort_unstable();
    let post = case.post(ada, 1).await.id;
    let likes = members.iter().map(|id| case.store.like(UserId(*id), post, NOW));
    try_join_all(likes).await.unwrap();

    let other = Store::open_read_only(&case.place.database()).await.unwrap();
    let meddle = case.meddle("DELETE FROM likes; UPDATE posts SET like_count = 0");
    let seen = other.export(Meddler { meddle, seen: Vec::new() }).await.unwrap().seen;
    let liked = seen.iter().filter_map(|fact| match fact {
        Fact::Like(like) => Some(like.user_id),
        _ => None,
    });
    assert_eq!(liked.collect::<Vec<_>>(), members, "as it was when it began");
    assert_eq!(other.census().await.unwrap().likes, 0, "a later look sees what came after");
    let refused = other.like(ada, post, NOW).await.unwrap_err();
    assert!(matches!(refused, Error::ReadOnly), "{refused}");
}

pub(crate) async fn an_examination_finds_what_is_wrong_and_mends_what_it_can(case: Case) {
    live(&case).await;
    let store = &case.store;
    assert_eq!(store.complaints().await.unwrap(), Vec::<String>::new());
    assert_eq!(store.miscounted().await.unwrap(), []);
    assert_eq!(store.unshown_photos().await.unwrap(), []);
    assert_eq!(store.exhausted_sequences().await.unwrap(), Vec::<&str>::new());
    assert_eq!(store.newest().await.unwrap(), NOW);
    assert_eq!(Case::on_sqlite().await.store.newest().await.unwrap(), LONG_AGO);
    for (number, expected) in [(1, true), (3, true), (4, true), (77, false)] {
        assert_eq!(store.expects_bytes(photo(number).id).await.unwrap(), expected, "photo {number}");
    }
    let later = NOW.plus(Duration::from_secs(1));
    let lingering = store.lingering(later, later).await.unwrap();
    assert_eq!((lingering.claims, lingering.removals, lingering.sessions), (1, 1, 2));
    let lingering = store.lingering(NOW, NOW).await.unwrap();
    assert_eq!((lingering.claims, lingering.removals, lingering.sessions), (0, 0, 0));

    case.meddle("UPDATE posts SET like_count = 7 WHERE id = 1; UPDATE users SET photo_id = NULL")();
    case.turn_back_post_ids();
    let miscounted = store.miscounted().await.unwrap();
    assert_eq!((miscounted.len(), miscounted[0].post.0, miscounted[0].likes), (1, 1, 2));
    assert_eq!(store.unshown_photos().await.unwrap().len(), 1);
    assert_eq!(store.exhausted_sequences().await.unwrap(), ["posts"]);
    // Only SQLite lets its references be broken.
    if let Place::Folder(_) = case.place {
        case.meddle(
            "PRAGMA foreign_keys = OFF; INSERT INTO likes (user_id, post_id, created_at) VALUES (1, 99, 1)",
        )();
        let complaints = store.complaints().await.unwrap();
        assert_eq!(complaints, ["1 rows of likes point to rows of posts that are not there"]);
    }
    let clock = store.clock().await.unwrap();
    assert_eq!(clock.is_some(), matches!(case.place, Place::Server { .. }), "{clock:?}");

    assert_eq!(store.recount_likes().await.unwrap(), 1);
    assert_eq!(store.mend_sequences().await.unwrap(), 1);
    assert_eq!(store.miscounted().await.unwrap(), []);
    assert_eq!(store.exhausted_sequences().await.unwrap(), Vec::<&str>::new());
    assert_eq!(store.post(PostId(1), None).await.unwrap().unwrap().like_count, 2);
}
