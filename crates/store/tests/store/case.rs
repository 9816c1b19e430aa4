//! A store of its own for each story, and what happens in most of them.

use std::sync::atomic::{AtomicU64, Ordering};

use model::{Message, Photo, PhotoId, Post, PostContent, Timestamp, Token, User, UserId};
use store::{Created, Database, NewPhoto, NewPost, NewSession, NewUser, ProfileChange, Store};
use tokio_postgres::NoTls;

pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_794_648_600_000_000);
pub(crate) const LONG_AGO: Timestamp = Timestamp::from_micros(0);

static MADE: AtomicU64 = AtomicU64::new(0);

pub(crate) struct Case {
    pub(crate) store: Store,
    pub(crate) place: Place,
}

/// Where it is, for those who ask past every function of the store.
pub(crate) enum Place {
    Folder(tempfile::TempDir),
    Server { primary: String, replica: Option<String> },
}

impl Place {
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

impl Case {
    pub(crate) async fn on_sqlite() -> Self {
        Self::open(Place::Folder(tempfile::tempdir().unwrap())).await
    }

    /// In an empty schema with the server the test script started. Never skipped: without one, the test
    /// fails.
    pub(crate) async fn on_postgres() -> Self {
        Self::open(Place::Server { primary: fresh_schema().await, replica: None }).await
    }

    /// The same, with reads from its standby where they are as good.
    pub(crate) async fn on_postgres_with_replica() -> Self {
        let primary = fresh_schema().await;
        let replica = primary.replace(&variable(PRIMARY), &variable(REPLICA));
        Self::open(Place::Server { primary, replica: Some(replica) }).await
    }

    /// Asks the standby.
    pub(crate) async fn count_on_replica(&self, sql: &str) -> i64 {
        let Place::Server { replica: Some(url), .. } = &self.place else { panic!("there is no replica") };
        ask(url, async |client| client.query_one(sql, &[]).await.unwrap().get(0)).await
    }

    async fn open(place: Place) -> Self {
        Self { store: open(&place).await, place }
    }

    /// Closes it and opens it again.
    pub(crate) async fn reopen(self) -> Self {
        let Self { store, place } = self;
        drop(store);
        Self::open(place).await
    }

    /// Ends every connection of this story to the server, in the middle of whatever it is doing; tells how
    /// many.
    pub(crate) async fn cut_connections(&self) -> i64 {
        self.count(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
             WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid()",
        )
        .await
    }

    /// A second store on the same database.
    pub(crate) async fn another_node(&self) -> Store {
        open(&self.place).await
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
            Created::New(post) => post,
            other => panic!("{other:?}"),
        }
    }

    /// Claims a photo and shows it.
    pub(crate) async fn portrait(&self, user: UserId, number: u8) -> ProfileChange {
        self.store.claim_photo(photo(number).id, NOW).await.unwrap();
        self.store.set_profile_photo(user, new_photo(number), NOW).await.unwrap().unwrap()
    }

    /// Does something to the database itself, past every function of the store, on a thread of its own:
    /// whoever asks for it may be in the middle of a transaction.
    pub(crate) fn meddle(&self, sql: &'static str) -> impl FnMut() + Send + use<> {
        let place = match &self.place {
            Place::Folder(folder) => Ok(folder.path().join("pinhole.db")),
            Place::Server { primary: url, .. } => Err(url.clone()),
        };
        move || {
            let place = place.clone();
            let meddler = std::thread::spawn(move || match place {
                Ok(path) => rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap(),
                Err(url) => {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                    runtime.block_on(ask(&url, async |client| client.batch_execute(sql).await.unwrap()));
                }
            });
            meddler.join().unwrap();
        }
    }

    /// As if ids had been handed out again from the beginning.
    pub(crate) fn turn_back_post_ids(&self) {
        self.meddle(match self.place {
            Place::Folder(_) => "UPDATE sqlite_sequence SET seq = 1 WHERE name = 'posts'",
            Place::Server { .. } => "SELECT setval('posts_id_seq', 1)",
        })();
    }

    /// Whether SQLite's schema lets a column be null.
    pub(crate) async fn is_nullable(&self, table: &str, column: &str) -> bool {
        let nullable = format!(
            "SELECT count(*) FROM pragma_table_info('{table}') WHERE name = '{column}' AND \"notnull\" = 0 AND pk = 0"
        );
        self.count(&nullable).await > 0
    }

    /// Asks the database itself, past every function of the store.
    pub(crate) async fn count(&self, sql: &str) -> i64 {
        match &self.place {
            Place::Folder(folder) => {
                let conn = rusqlite::Connection::open(folder.path().join("pinhole.db")).unwrap();
                conn.query_row(sql, [], |row| row.get(0)).unwrap()
            }
            Place::Server { primary, .. } => {
                ask(primary, async |client| client.query_one(sql, &[]).await.unwrap().get(0)).await
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

/// The address of an empty schema.
async fn fresh_schema() -> String {
    let url = variable(PRIMARY);
    let name = format!("story_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    let made = format!("DROP SCHEMA IF EXISTS {name} CASCADE; CREATE SCHEMA {name}");
    ask(&url, async |client| client.batch_execute(&made).await.unwrap()).await;
    let and = if url.contains('?') { '&' } else { '?' };
    format!("{url}{and}options=-csearch_path%3D{name}&application_name={name}")
}

async fn open(place: &Place) -> Store {
    Store::open(&place.database(), 2, Box::new(|_| {})).await.unwrap()
}

async fn ask<T>(url: &str, question: impl AsyncFnOnce(&tokio_postgres::Client) -> T) -> T {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let task = tokio::spawn(connection);
    let answer = question(&client).await;
    drop(client);
    task.await.unwrap().unwrap();
    answer
}

pub(crate) async fn join(store: &Store, name: &str) -> Option<User> {
    let new = NewUser { username: name.parse().unwrap(), password_hash: "hash".into(), created_at: NOW };
    store.join(new, session(seed(name))).await.unwrap()
}

/// What a name's session is made of; no two of the names told here share it.
pub(crate) fn seed(name: &str) -> u8 {
    name.bytes().fold(0, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte))
}

pub(crate) fn session(seed: u8) -> NewSession {
    NewSession { token: Token::new([seed; 32]).hash(), started_at: NOW }
}

pub(crate) fn photo(number: u8) -> Photo {
    Photo {
        id: PhotoId::new(NOW, [number; 10]),
        width: 40,
        height: 30,
        placeholder: vec![1, 2, 3].into(),
        alt: None,
    }
}

pub(crate) fn new_photo(number: u8) -> NewPhoto {
    NewPhoto { photo: photo(number), bytes: 1000, original: None }
}

pub(crate) fn new_post(author: UserId, number: u8, key: Option<&str>) -> NewPost {
    NewPost {
        content: PostContent::of_message(Message::parse(format!("post {number}")).unwrap()),
        key: key.map(str::to_owned),
        keys_since: LONG_AGO,
        ..NewPost::new(author, new_photo(number), NOW)
    }
}
