//! A new database for each test, with a store on it, and the steps that most tests share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use model::{
    FeedPage, FeedStart, Limit, Message, Photo, PhotoId, Post, PostContent, PostFilter, RequestDigest,
    Timestamp, Token, User, UserId,
};
use store::{
    CreateOutcome, Database, Exclusions, FeedRequest, JoinOutcome, NewPhoto, NewPost, NewSession, NewUser,
    ProfileChange, ProfilePhotoOutcome, RequestKey, Store,
};
use tokio_postgres::NoTls;

pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_794_648_600_000_000);
pub(crate) const LONG_AGO: Timestamp = Timestamp::from_micros(0);

static SCHEMA_COUNT: AtomicU64 = AtomicU64::new(0);

pub(crate) struct TestDatabase {
    pub(crate) store: Store,
    pub(crate) location: Location,
}

/// Where the database is, for statements that bypass the store.
pub(crate) enum Location {
    Folder(tempfile::TempDir),
    Server { primary: String, replica: Option<String> },
}

impl Location {
    pub(crate) fn database(&self) -> Database {
        match self {
            Self::Folder(folder) => Database::File(folder.path().join("pinhole.db")),
            Self::Server { primary, replica } => Database::Server {
                primary: primary.parse().unwrap(),
                replica: replica.as_ref().map(|url| url.parse().unwrap()),
            },
        }
    }
}

impl TestDatabase {
    pub(crate) async fn on_sqlite() -> Self {
        Self::open(Location::Folder(tempfile::tempdir().unwrap())).await
    }

    /// An empty schema on the server that the test script starts. Without a server the test fails; it is
    /// never skipped.
    pub(crate) async fn on_postgres() -> Self {
        Self::open(Location::Server { primary: create_schema().await, replica: None }).await
    }

    /// The same, with reads from the server's standby.
    pub(crate) async fn on_postgres_with_replica() -> Self {
        let primary = create_schema().await;
        let replica = primary.replace(&variable(PRIMARY), &variable(REPLICA));
        Self::open(Location::Server { primary, replica: Some(replica) }).await
    }

    /// Selects a number from the standby, bypassing the store.
    pub(crate) async fn count_on_replica(&self, sql: &str) -> i64 {
        let Location::Server { replica: Some(url), .. } = &self.location else {
            panic!("there is no replica")
        };
        with_client(url, async |client| client.query_one(sql, &[]).await.unwrap().get(0)).await
    }

    async fn open(location: Location) -> Self {
        Self { store: open(&location).await, location }
    }

    /// Closes the store and opens it again.
    pub(crate) async fn reopen(self) -> Self {
        let Self { store, location } = self;
        drop(store);
        Self::open(location).await
    }

    /// Terminates all server connections of this test, also those that run a statement; returns how many.
    pub(crate) async fn terminate_connections(&self) -> i64 {
        self.count(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
             WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid()",
        )
        .await
    }

    /// Another store on the same database.
    pub(crate) async fn another_node(&self) -> Store {
        open(&self.location).await
    }

    pub(crate) async fn user(&self, name: &str) -> User {
        self.join(name).await.unwrap()
    }

    pub(crate) async fn join(&self, name: &str) -> Option<User> {
        join(&self.store, name).await
    }

    pub(crate) async fn post(&self, author: UserId, number: u8) -> Post<UserId> {
        self.store.claim_photo(photo(number).id, NOW).await.unwrap();
        match self.store.create_post(new_post(author, number, None)).await.unwrap() {
            CreateOutcome::New(post) => post,
            other => panic!("{other:?}"),
        }
    }

    /// Deletes the row of a deleted account. Older transactions of other tests on the server delay it.
    pub(crate) async fn finish_deletion(&self, user: UserId) {
        for _ in 0..1000 {
            if self.store.finish_deletion(user).await.unwrap() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{user} is not deleted");
    }

    /// Claims a photo and makes it the user's profile photo.
    pub(crate) async fn set_profile_photo(&self, user: UserId, number: u8) -> ProfileChange {
        self.store.claim_photo(photo(number).id, NOW).await.unwrap();
        match self.store.set_profile_photo(user, new_photo(number), None, NOW).await.unwrap() {
            ProfilePhotoOutcome::Changed(change) => *change,
            other => panic!("{other:?}"),
        }
    }

    /// Returns a function that executes `sql` on the database, bypassing the store. It runs on a new thread,
    /// because the caller may be inside a transaction.
    pub(crate) fn execute_directly(&self, sql: &'static str) -> impl FnMut() + Send + use<> {
        let location = match &self.location {
            Location::Folder(folder) => Ok(folder.path().join("pinhole.db")),
            Location::Server { primary: url, .. } => Err(url.clone()),
        };
        move || {
            let location = location.clone();
            let thread = std::thread::spawn(move || match location {
                Ok(path) => rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap(),
                Err(url) => {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                    runtime
                        .block_on(with_client(&url, async |client| client.batch_execute(sql).await.unwrap()));
                }
            });
            thread.join().unwrap();
        }
    }

    /// Inserts 25,000 posts of the first user, bypassing the store.
    pub(crate) fn insert_many_posts(&self) {
        self.execute_directly(match self.location {
            Location::Folder(_) => {
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 25000)
                 INSERT INTO photos (id, width, height, placeholder, bytes, created_at)
                     SELECT randomblob(16), 1, 1, x'01', 1, 5 FROM n;
                 INSERT INTO posts (user_id, photo_id, width, height, placeholder, like_count, created_at)
                     SELECT 1, id, 1, 1, x'01', 0, 5 FROM photos WHERE created_at = 5"
            }
            Location::Server { .. } => {
                "INSERT INTO photos (id, width, height, placeholder, bytes, created_at)
                     SELECT gen_random_uuid(), 1, 1, '\\x01', 1, 5 FROM generate_series(1, 25000);
                 INSERT INTO posts (user_id, photo_id, width, height, placeholder, like_count, created_at)
                     SELECT 1, id, 1, 1, '\\x01', 0, 5 FROM photos WHERE created_at = 5"
            }
        })();
    }

    /// Sets the sequence of posts back to its beginning.
    pub(crate) fn reset_post_sequence(&self) {
        self.execute_directly(match self.location {
            Location::Folder(_) => "UPDATE sqlite_sequence SET seq = 1 WHERE name = 'posts'",
            Location::Server { .. } => "SELECT setval('posts_id_seq', 1)",
        })();
    }

    /// Whether a column is nullable in SQLite's schema.
    pub(crate) async fn is_nullable(&self, table: &str, column: &str) -> bool {
        let nullable = format!(
            "SELECT count(*) FROM pragma_table_info('{table}') WHERE name = '{column}' AND \"notnull\" = 0 AND pk = 0"
        );
        self.count(&nullable).await > 0
    }

    /// Selects a number, bypassing the store.
    pub(crate) async fn count(&self, sql: &str) -> i64 {
        match &self.location {
            Location::Folder(folder) => {
                let conn = rusqlite::Connection::open(folder.path().join("pinhole.db")).unwrap();
                conn.query_row(sql, [], |row| row.get(0)).unwrap()
            }
            Location::Server { primary, .. } => {
                with_client(primary, async |client| client.query_one(sql, &[]).await.unwrap().get(0)).await
            }
        }
    }
}

const PRIMARY: &str = "PINHOLE_TEST_POSTGRES_URL";
const REPLICA: &str = "PINHOLE_TEST_POSTGRES_REPLICA_URL";

fn variable(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set: scripts/test starts the servers and sets it"))
}

/// Creates an empty schema; returns the URL that selects it.
async fn create_schema() -> String {
    let url = variable(PRIMARY);
    let name = format!("store_test_{}_{}", std::process::id(), SCHEMA_COUNT.fetch_add(1, Ordering::Relaxed));
    let create = format!("DROP SCHEMA IF EXISTS {name} CASCADE; CREATE SCHEMA {name}");
    with_client(&url, async |client| client.batch_execute(&create).await.unwrap()).await;
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}options=-csearch_path%3D{name}&application_name={name}")
}

async fn open(location: &Location) -> Store {
    Store::open(&location.database(), 2).await.unwrap()
}

/// Connects, calls `run` with the client, and closes the connection.
async fn with_client<T>(url: &str, run: impl AsyncFnOnce(&tokio_postgres::Client) -> T) -> T {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let task = tokio::spawn(connection);
    let result = run(&client).await;
    drop(client);
    task.await.unwrap().unwrap();
    result
}

pub(crate) async fn join(store: &Store, name: &str) -> Option<User> {
    let new = NewUser::new(name.parse().unwrap(), "hash".into(), NOW);
    match store.join(new, session(seed(name)), None).await.unwrap() {
        JoinOutcome::Joined(user) => Some(user),
        JoinOutcome::UsernameTaken => None,
        outcome @ JoinOutcome::InvalidInvitation => panic!("{outcome:?}"),
    }
}

/// The seed of a user's session token, derived from the name; the names in these tests have distinct seeds.
pub(crate) fn seed(name: &str) -> u8 {
    name.bytes().fold(0, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte))
}

pub(crate) fn session(seed: u8) -> NewSession {
    NewSession { token: Token::new([seed; 32]).hash(), started_at: NOW, client: None, network: None }
}

pub(crate) fn photo(number: u8) -> Photo {
    Photo {
        id: PhotoId::new(NOW, [number; 10]),
        width: 40,
        height: 30,
        placeholder: vec![1, 2, 3].into(),
        alt: None,
        focus: model::Focus::CENTRE,
    }
}

pub(crate) fn new_photo(number: u8) -> NewPhoto {
    NewPhoto { photo: photo(number), bytes: 1000, original: None }
}

pub(crate) fn new_post(author: UserId, number: u8, key: Option<&str>) -> NewPost {
    NewPost {
        content: PostContent::of_message(Message::parse(format!("post {number} #Post")).unwrap()),
        key: key.map(|key| RequestKey { key: key.to_owned(), digest: RequestDigest([number; 32]) }),
        keys_since: LONG_AGO,
        ..NewPost::new(author, new_photo(number), NOW)
    }
}

/// A page. A short read of it is the same as a long one.
pub(crate) async fn feed(
    store: &Store,
    viewer: Option<UserId>,
    filter: PostFilter,
    start: FeedStart,
    limit: Limit,
    exclusions: &Exclusions,
) -> FeedPage<UserId> {
    let request = FeedRequest { viewer, filter, start, limit, exclusions: exclusions.clone() };
    let page = store.long_feed(request.clone()).await.unwrap();
    if let Some(short) = store.short_feed(request).await.unwrap() {
        assert_eq!(short, page);
    }
    page
}
