//! The store through its public face, on a real database file. Every function is called, so every
//! statement runs.

#![allow(clippy::unwrap_used, reason = "a broken expectation must stop the story where it stands")]

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use model::{
    Alt, FeedStart, Limit, Message, Photo, PhotoId, Post, PostEdit, PostId, Timestamp, Token, User, UserId,
    Username, Whose,
};
use store::{
    Access, Arrival, Created, Error, Fact, Like, NewPhoto, NewPost, NewSession, NewUser, Original, Portrait, Repeat, Sink,
    Store, Table,
};

const NOW: Timestamp = Timestamp::from_micros(1_794_648_600_000_000);
const LONG_AGO: Timestamp = Timestamp::from_micros(0);

struct Case {
    store: Store,
    folder: tempfile::TempDir,
}

impl Case {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { store: Store::open(&folder.path().join("pinhole.db"), 2, Box::new(|_| {})).unwrap(), folder }
    }

    async fn user(&self, name: &str) -> User {
        self.join(name).await.unwrap()
    }

    /// Joins with a session whose token nobody else has.
    async fn join_as(&self, name: &str) -> Option<User> {
        let new = NewUser { username: name.parse().unwrap(), password_hash: "hash".into(), created_at: NOW };
        let mut token = [0; 32];
        token[..name.len()].copy_from_slice(name.as_bytes());
        let session = NewSession { token: Token::new(token).hash(), started_at: NOW };
        self.store.join(new, session).await.unwrap()
    }

    async fn join(&self, name: &str) -> Option<User> {
        let new = NewUser { username: name.parse().unwrap(), password_hash: "hash".into(), created_at: NOW };
        self.store.join(new, session(seed(name))).await.unwrap()
    }

    async fn post(&self, author: UserId, number: u8) -> Post<UserId> {
        self.store.claim_photo(photo(number).id, NOW).await.unwrap();
        match self.store.create_post(new_post(author, number, None)).await.unwrap() {
            Created::New(post) => post,
            other => panic!("{other:?}"),
        }
    }

    /// Claims a photo and shows it.
    async fn portrait(&self, user: UserId, number: u8) -> Portrait {
        self.store.claim_photo(photo(number).id, NOW).await.unwrap();
        self.store.set_profile_photo(user, new_photo(number), NOW).await.unwrap().unwrap()
    }

    /// Asks the file itself, past every function of the store.
    fn count(&self, sql: &str) -> i64 {
        let conn = rusqlite::Connection::open(self.folder.path().join("pinhole.db")).unwrap();
        conn.query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

fn seed(name: &str) -> u8 {
    name.bytes().fold(0, u8::wrapping_add)
}

fn session(seed: u8) -> NewSession {
    NewSession { token: Token::new([seed; 32]).hash(), started_at: NOW }
}

fn photo(number: u8) -> Photo {
    Photo {
        id: PhotoId::new(NOW, [number; 10]),
        width: 40,
        height: 30,
        placeholder: vec![1, 2, 3],
        alt: None,
    }
}

fn new_photo(number: u8) -> NewPhoto {
    NewPhoto { photo: photo(number), bytes: 1000, original: None }
}

fn new_post(author: UserId, number: u8, key: Option<&str>) -> NewPost {
    NewPost {
        author,
        photo: new_photo(number),
        message: Message::parse(format!("post {number}")).unwrap(),
        key: key.map(str::to_owned),
        keys_since: LONG_AGO,
        created_at: NOW,
    }
}

#[tokio::test]
async fn one_name_is_given_once_whatever_its_case() {
    let case = Case::new();
    let ada = case.user("Ada").await;
    assert_eq!((ada.username.as_str(), ada.photo, ada.created_at), ("Ada", None, NOW));
    assert_eq!(case.join("aDA").await, None);
    assert_eq!(case.count("SELECT count(*) FROM users"), 1);
    assert_eq!(case.count("SELECT count(*) FROM sessions"), 1, "the loser got no session");

    let known = case.store.credentials(&"ADA".parse::<Username>().unwrap()).await.unwrap().unwrap();
    assert_eq!((known.user.id, known.password_hash.as_str()), (ada.id, "hash"));
    assert!(case.store.credentials(&"bob".parse::<Username>().unwrap()).await.unwrap().is_none());
    assert_eq!(case.store.user(&"aDa".parse().unwrap()).await.unwrap().map(|user| user.id), Some(ada.id));
    assert_eq!(case.store.user(&"bob".parse().unwrap()).await.unwrap(), None);
}

#[tokio::test]
async fn sessions_are_found_touched_ended_and_swept() {
    let case = Case::new();
    let ada = case.user("ada").await;
    let (first, second) = (session(seed("ada")).token, session(99).token);
    case.store.start_session(ada.id, session(99)).await.unwrap();

    let later = NOW.plus(Duration::from_secs(60));
    case.store.touch_session(second, later).await.unwrap();
    case.store.touch_session(second, NOW).await.unwrap();
    let found = case.store.session(second).await.unwrap().unwrap();
    assert_eq!((found.user.id, found.last_used_at), (ada.id, later), "a late note does not turn time back");

    assert_eq!(case.store.sweep(later, Duration::from_secs(30), Duration::from_secs(30)).await.unwrap(), 1);
    assert!(case.store.session(first).await.unwrap().is_none());
    assert!(case.store.end_session(second).await.unwrap());
    assert!(!case.store.end_session(second).await.unwrap());
    assert!(case.store.session(second).await.unwrap().is_none());
}

#[tokio::test]
async fn the_count_is_the_number_of_likes() {
    let case = Case::new();
    let ada = case.user("ada").await;
    let post = case.post(ada.id, 1).await.id;
    let mut likes = Vec::new();
    for number in 0..10 {
        likes.push(case.user(&format!("user{number}")).await.id);
    }
    // Everybody twice at once, some of them take it back.
    let twice = likes.iter().chain(&likes).map(|user| case.store.like(*user, post, NOW));
    let outcomes: Vec<Like> =
        futures_util::future::join_all(twice).await.into_iter().collect::<Result<_, _>>().unwrap();
    assert_eq!(outcomes.iter().filter(|o| **o == Like::Changed).count(), 10);
    assert_eq!(outcomes.iter().filter(|o| **o == Like::Unchanged).count(), 10);
    for user in &likes[..4] {
        assert_eq!(case.store.unlike(*user, post).await.unwrap(), Like::Changed);
        assert_eq!(case.store.unlike(*user, post).await.unwrap(), Like::Unchanged);
    }
    let seen = case.store.post(post, Some(likes[5])).await.unwrap().unwrap();
    assert_eq!((seen.like_count, seen.is_liked), (6, true));
    assert!(!case.store.post(post, Some(likes[0])).await.unwrap().unwrap().is_liked);
    assert!(!case.store.post(post, None).await.unwrap().unwrap().is_liked);
    assert_eq!(case.count("SELECT count(*) FROM likes"), 6);

    let missing = PostId(999);
    assert_eq!(case.store.like(ada.id, missing, NOW).await.unwrap(), Like::NoSuchPost);
    assert_eq!(case.store.unlike(ada.id, missing).await.unwrap(), Like::NoSuchPost);
}

#[tokio::test]
async fn a_deleted_post_takes_everything_along_and_its_id_never_comes_back() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada").await, case.user("bob").await);
    let post = case.post(ada.id, 1).await;
    case.store.like(bob.id, post.id, NOW).await.unwrap();

    assert_eq!(case.store.delete_post(post.id, Some(bob.id), NOW).await.unwrap(), Access::Forbidden);
    assert_eq!(
        case.store.delete_post(post.id, Some(ada.id), NOW).await.unwrap(),
        Access::Granted(post.photo.id)
    );
    assert_eq!(case.store.delete_post(post.id, None, NOW).await.unwrap(), Access::Missing);
    for table in ["posts", "photos", "likes"] {
        assert_eq!(case.count(&format!("SELECT count(*) FROM {table}")), 0, "{table}");
    }
    assert_eq!(case.store.photo(post.photo.id).await.unwrap(), None);

    // Its bytes are on the list until somebody says that they are gone.
    let later = NOW.plus(Duration::from_secs(1));
    assert_eq!(case.store.removals(later).await.unwrap(), [post.photo.id]);
    case.store.strike_removal(post.photo.id).await.unwrap();
    assert_eq!(case.store.removals(later).await.unwrap(), []);

    assert!(case.post(ada.id, 2).await.id > post.id);
    let second = case.post(bob.id, 3).await;
    assert_eq!(case.store.delete_post(second.id, None, NOW).await.unwrap(), Access::Granted(second.photo.id));
}

#[tokio::test]
async fn only_the_author_edits() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada").await, case.user("bob").await);
    let post = case.post(ada.id, 1).await.id;
    assert_eq!(case.store.post_author(post).await.unwrap(), Some(ada.id));
    let (text, words) = (Message::parse("new".into()).unwrap(), Alt::parse("swans".into()).unwrap());
    let both = PostEdit { message: Some(text.clone()), alt: Some(words.clone()) };
    assert_eq!(case.store.edit_post(post, bob.id, both.clone()).await.unwrap(), Access::Forbidden);
    assert_eq!(case.store.edit_post(PostId(999), ada.id, both.clone()).await.unwrap(), Access::Missing);
    let untouched = case.post(ada.id, 2).await;

    let edits = [
        (both, text.clone(), words.clone()),
        (PostEdit { message: Some(None), alt: None }, None, words),
        (PostEdit { message: Some(text.clone()), alt: Some(None) }, text.clone(), None),
        (PostEdit::default(), text, None),
    ];
    for (edit, message, alt) in edits {
        let Access::Granted(edited) = case.store.edit_post(post, ada.id, edit).await.unwrap() else {
            panic!()
        };
        assert_eq!((edited.message, edited.photo.alt), (message, alt));
    }
    assert_eq!(case.store.post(untouched.id, Some(ada.id)).await.unwrap(), Some(untouched));
}

#[tokio::test]
async fn a_claim_is_redeemed_once_or_collected() {
    let case = Case::new();
    let ada = case.user("ada").await;
    let unclaimed = case.store.create_post(new_post(ada.id, 1, None)).await.unwrap();
    assert_eq!(unclaimed, Created::ClaimLost);

    // An upload that dies is collected, and cannot come back from the dead.
    case.store.claim_photo(photo(2).id, NOW).await.unwrap();
    let later = NOW.plus(Duration::from_secs(1));
    assert_eq!(case.store.abandon_stale_claims(NOW, later).await.unwrap(), 0, "not yet");
    assert_eq!(case.store.abandon_stale_claims(later, later).await.unwrap(), 1);
    assert_eq!(case.store.create_post(new_post(ada.id, 2, None)).await.unwrap(), Created::ClaimLost);
    assert_eq!(case.store.removals(later.plus(Duration::from_secs(1))).await.unwrap(), [photo(2).id]);

    // Giving up what was redeemed must not take the post's bytes away.
    let post = case.post(ada.id, 3).await;
    assert!(!case.store.abandon_photo(post.photo.id, later).await.unwrap());
    assert_eq!(case.store.removals(later.plus(Duration::from_secs(1))).await.unwrap(), [photo(2).id]);
    assert_eq!(case.store.totals().await.unwrap(), store::Totals { photos: 1, bytes: 1000 });
    case.store.ping().await.unwrap();
}

#[tokio::test]
async fn a_new_profile_photo_takes_the_earlier_one_along() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada").await, case.user("bob").await);
    let photos = || case.count("SELECT count(*) FROM photos");
    let later = NOW.plus(Duration::from_secs(1));
    let unclaimed = case.store.set_profile_photo(ada.id, new_photo(1), NOW).await.unwrap();
    assert_eq!((unclaimed, photos()), (None, 0));
    case.portrait(bob.id, 9).await;

    let first = case.portrait(ada.id, 1).await;
    assert_eq!((first.user.photo, first.replaced), (Some(photo(1)), None));
    assert_eq!(case.store.removals(later).await.unwrap(), []);
    let second = case.portrait(ada.id, 2).await;
    assert_eq!((second.user.photo.clone(), second.replaced), (Some(photo(2)), Some(photo(1).id)));
    assert_eq!(case.store.removals(later).await.unwrap(), [photo(1).id]);
    assert_eq!(case.store.photo(photo(1).id).await.unwrap(), None);
    assert_eq!(case.store.user(&ada.username).await.unwrap(), Some(second.user));

    assert_eq!(case.store.delete_profile_photo(ada.id, NOW).await.unwrap(), Some(photo(2).id));
    assert_eq!(case.store.delete_profile_photo(ada.id, NOW).await.unwrap(), None);
    assert_eq!(case.store.removals(later).await.unwrap(), [photo(1).id, photo(2).id]);
    assert_eq!(case.store.user(&ada.username).await.unwrap(), Some(ada));
    assert_eq!(photos(), 1, "bob keeps his");
    assert_eq!(case.count("SELECT count(*) FROM uploads"), 0);
}

#[tokio::test]
async fn a_photo_says_how_to_read_its_original_if_there_is_one() {
    let case = Case::new();
    let ada = case.user("ada").await;
    case.post(ada.id, 1).await;
    case.store.claim_photo(photo(2).id, NOW).await.unwrap();
    let mut new = new_post(ada.id, 2, None);
    new.photo.original = Some(Original { format: "webp", orientation: 6 });
    assert!(matches!(case.store.create_post(new).await.unwrap(), Created::New(_)));

    assert_eq!(case.count("SELECT count(*) FROM photos WHERE original IS NULL AND orientation IS NULL"), 1);
    assert_eq!(case.count("SELECT count(*) FROM photos WHERE original = 'webp' AND orientation = 6"), 1);
}

#[tokio::test]
async fn a_key_makes_one_post() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada").await, case.user("bob").await);
    for number in [1, 2, 3] {
        case.store.claim_photo(photo(number).id, NOW).await.unwrap();
    }
    let Created::New(post) = case.store.create_post(new_post(ada.id, 1, Some("k"))).await.unwrap() else {
        panic!()
    };
    let again = case.store.create_post(new_post(ada.id, 2, Some("k"))).await.unwrap();
    assert_eq!(again, Created::Repeated(Repeat::Here(post.clone())));
    assert_eq!(case.store.removals(NOW.plus(Duration::from_secs(1))).await.unwrap(), [photo(2).id]);
    assert!(matches!(case.store.create_post(new_post(bob.id, 3, Some("k"))).await.unwrap(), Created::New(_)));

    assert_eq!(
        case.store.repeat(ada.id, "k".into(), LONG_AGO).await.unwrap(),
        Some(Repeat::Here(post.clone()))
    );
    assert_eq!(case.store.repeat(ada.id, "k".into(), NOW).await.unwrap(), None, "too old by then");
    case.store.delete_post(post.id, None, NOW).await.unwrap();
    assert_eq!(case.store.repeat(ada.id, "k".into(), LONG_AGO).await.unwrap(), Some(Repeat::Deleted));

    // The sweep forgets old keys, and only those.
    let tomorrow = NOW.plus(Duration::from_secs(86_400));
    let day = Duration::from_secs(86_400);
    assert_eq!(case.store.sweep(tomorrow, 365 * day, day).await.unwrap(), 0);
    assert_eq!(case.store.sweep(tomorrow.plus(day), 365 * day, day).await.unwrap(), 2);
    assert_eq!(case.store.repeat(ada.id, "k".into(), LONG_AGO).await.unwrap(), None);
}

#[tokio::test]
async fn feed_pages_start_at_offsets_or_anchors() {
    let case = Case::new();
    let (ada, bob) = (case.user("ada").await, case.user("bob").await);
    let mut newest_first = Vec::new();
    for number in 0..7 {
        newest_first.insert(0, case.post(ada.id, number).await.id);
    }
    assert_pages(&case, ada.id, Whose::Everyones, newest_first).await;

    // Somebody's own posts are paged alike, however many of others lie between them.
    let mut newest_first = Vec::new();
    for number in 0..7 {
        newest_first.insert(0, case.post(bob.id, 20 + 2 * number).await.id);
        case.post(ada.id, 21 + 2 * number).await;
    }
    assert_pages(&case, bob.id, Whose::Only(bob.id), newest_first).await;
    let nobodys = case.store.feed(None, Whose::Only(UserId(99)), FeedStart::Offset(0), Limit::default());
    assert!(nobodys.await.unwrap().posts.is_empty());
}

/// Pages of three through seven posts of `author`, of which one is deleted and one comes on top meanwhile.
async fn assert_pages(case: &Case, author: UserId, whose: Whose, newest_first: Vec<PostId>) {
    let limit: Limit = "3".parse().unwrap();
    let page = async |start| {
        let page = case.store.feed(Some(author), whose, start, limit).await.unwrap();
        (page.posts.iter().map(|post| post.id).collect::<Vec<_>>(), page.next)
    };
    let (first, next) = page(FeedStart::Offset(0)).await;
    assert_eq!(first, newest_first[..3]);
    let anchor = next.unwrap();

    // The anchored post may go and new ones may come: the place stays.
    case.store.delete_post(first[2], None, NOW).await.unwrap();
    case.post(author, 100 + u8::try_from(author.0).unwrap()).await;
    let (second, next) = page(FeedStart::After(anchor)).await;
    assert_eq!(second, newest_first[3..6]);
    let (third, next) = page(FeedStart::After(next.unwrap())).await;
    assert_eq!((third.as_slice(), next), (&newest_first[6..], None));

    // Plain offsets count what is there now: 7 posts, the newest of them the one just made.
    assert_eq!(page(FeedStart::Offset(3)).await.0, newest_first[3..6]);
    assert_eq!(page(FeedStart::Offset(6)).await, (vec![newest_first[6]], None));
    for beyond in [7, 1_000_000, u64::MAX] {
        assert_eq!(page(FeedStart::Offset(beyond)).await, (vec![], None));
    }
}

#[tokio::test]
async fn what_was_written_is_there_after_reopening() {
    let case = Case::new();
    let ada = case.user("ada").await;
    let post = case.post(ada.id, 1).await;
    let Case { store, folder } = case;
    drop(store);
    let store = Store::open(&folder.path().join("pinhole.db"), 1, Box::new(|_| {})).unwrap();
    assert_eq!(store.post(post.id, Some(ada.id)).await.unwrap(), Some(post));
}

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
async fn lively() -> Case {
    let case = Case::new();
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
    case
}

#[tokio::test]
async fn what_one_database_gives_away_another_takes_in() {
    let (old, new) = (lively().await, Case::new());
    let before = facts(&old.store).await;
    let tables: Vec<Table> = before.iter().map(Fact::table).collect();
    assert!(tables.is_sorted() && Table::ALL.iter().all(|table| tables.contains(table)), "{tables:?}");

    // Nothing comes in without its bytes, and a failure leaves nothing.
    let bring = async |facts: Vec<Fact>| {
        new.store.import(Arrival::Claimed, facts.into_iter().map(Ok)).await
    };
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
    let beside = Case::new();
    let facts_again = facts(&old.store).await.into_iter().map(Ok);
    assert_eq!(beside.store.import(Arrival::Unmoved, facts_again).await.unwrap(), census);

    // The id of the deleted post is not handed out again.
    let ada = new.store.user(&"ada".parse().unwrap()).await.unwrap().unwrap();
    assert_eq!(new.post(ada.id, 9).await.id, PostId(4));
    assert_eq!(new.user("carol").await.id, UserId(3));
}

#[tokio::test]
async fn a_sink_that_has_enough_gets_no_more() {
    let case = lively().await;
    let few = case.store.export(Kept { facts: Vec::new(), enough: 2 }).await.unwrap().facts;
    assert_eq!(few, facts(&case.store).await[..2]);
}

#[tokio::test]
async fn many_pages_of_facts_are_those_of_one_moment() {
    let case = Case::new();
    let ada = case.user("ada").await.id;
    let users = (0..600).map(|n| format!("user{n}")).collect::<Vec<_>>();
    let join = users.iter().map(|name| case.join_as(name));
    futures_util::future::join_all(join).await;
    let post = case.post(ada, 1).await.id;
    let members: Vec<i64> = (1..=601).collect();
    let likes = members.iter().map(|id| case.store.like(UserId(*id), post, NOW));
    futures_util::future::try_join_all(likes).await.unwrap();

    /// Writes to the database in the middle of an export.
    struct Meddler {
        path: PathBuf,
        seen: Vec<Fact>,
    }
    impl Sink for Meddler {
        fn take(&mut self, fact: Fact) -> ControlFlow<()> {
            if self.seen.is_empty() {
                let conn = rusqlite::Connection::open(&self.path).unwrap();
                conn.execute_batch("DELETE FROM likes; UPDATE posts SET like_count = 0").unwrap();
            }
            self.seen.push(fact);
            ControlFlow::Continue(())
        }
    }
    let other = Store::open_to_read(&case.folder.path().join("pinhole.db")).unwrap();
    let meddler = Meddler { path: case.folder.path().join("pinhole.db"), seen: Vec::new() };
    let seen = other.export(meddler).await.unwrap().seen;
    let liked = seen.iter().filter_map(|fact| match fact {
        Fact::Like(like) => Some(like.user_id),
        _ => None,
    });
    assert_eq!(liked.collect::<Vec<_>>(), members, "as it was when it began");
    assert_eq!(other.census().await.unwrap().likes, 0, "a later look sees what came after");
    let refused = other.like(ada, post, NOW).await.unwrap_err();
    assert!(matches!(refused, Error::ReadOnly), "{refused}");
}

#[tokio::test]
async fn an_examination_finds_what_is_wrong_and_mends_what_it_can() {
    let case = lively().await;
    let store = &case.store;
    assert_eq!(store.complaints().await.unwrap(), Vec::<String>::new());
    assert_eq!(store.miscounted().await.unwrap(), []);
    assert_eq!(store.unshown_photos().await.unwrap(), []);
    assert_eq!(store.exhausted_sequences().await.unwrap(), Vec::<&str>::new());
    assert_eq!(store.newest().await.unwrap(), NOW);
    assert_eq!(Case::new().store.newest().await.unwrap(), LONG_AGO);
    for (number, expected) in [(1, true), (3, true), (4, true), (77, false)] {
        assert_eq!(store.expects_bytes(photo(number).id).await.unwrap(), expected, "photo {number}");
    }
    let later = NOW.plus(Duration::from_secs(1));
    let lingering = store.lingering(later, later).await.unwrap();
    assert_eq!((lingering.claims, lingering.removals, lingering.sessions), (1, 1, 2));
    let lingering = store.lingering(NOW, NOW).await.unwrap();
    assert_eq!((lingering.claims, lingering.removals, lingering.sessions), (0, 0, 0));

    let conn = rusqlite::Connection::open(case.folder.path().join("pinhole.db")).unwrap();
    conn.execute_batch(
        "PRAGMA foreign_keys = OFF;
         UPDATE posts SET like_count = 7 WHERE id = 1;
         INSERT INTO photos (id, width, height, placeholder, bytes, created_at)
             VALUES (x'00000000000000000000000000000000', 1, 1, x'01', 1, 1);
         INSERT INTO likes (user_id, post_id, created_at) VALUES (1, 99, 1);
         UPDATE sqlite_sequence SET seq = 1 WHERE name = 'posts';",
    )
    .unwrap();
    let miscounted = store.miscounted().await.unwrap();
    assert_eq!((miscounted.len(), miscounted[0].post.0, miscounted[0].likes), (1, 1, 2));
    assert_eq!(store.unshown_photos().await.unwrap().len(), 1);
    assert_eq!(store.exhausted_sequences().await.unwrap(), ["posts"]);
    let complaints = store.complaints().await.unwrap();
    assert_eq!(complaints, ["1 rows of likes point to rows of posts that are not there"]);

    assert_eq!(store.recount_likes().await.unwrap(), 1);
    assert_eq!(store.mend_sequences().await.unwrap(), 1);
    assert_eq!(store.miscounted().await.unwrap(), []);
    assert_eq!(store.exhausted_sequences().await.unwrap(), Vec::<&str>::new());
    assert_eq!(store.post(PostId(1), None).await.unwrap().unwrap().like_count, 2);
}
