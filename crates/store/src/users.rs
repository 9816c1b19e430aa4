//! Users, selected by name or id, and the credentials that a login is checked against.

use futures_util::FutureExt;
use model::{
    Bio, DisplayName, Link, Network, PhotoId, Profile, Reason, Role, Status, Timestamp, User, UserId,
    Username,
};

use crate::column::Column;
use crate::error::Error;
use crate::key::Key;
use crate::photos::{PROFILE_PHOTO_COLUMNS, read_optional_photo};
use crate::row::Row;
use crate::statements::{sql, statements};
use crate::store::Store;
use crate::table::{TableRow, table};
use crate::tx::Tx;
use crate::value::Value;

table! {
    /// A row of `users`. `network` is where the account joined from; NULL if no request made it.
    UserRow = "users", key (id), sequence {
        id: UserId,
        username: Username,
        username_key: String,
        password_hash: String,
        photo_id: Option<PhotoId>,
        created_at: Timestamp,
        display_name: Option<DisplayName>,
        bio: Option<Bio>,
        link: Option<Link>,
        role: Role,
        status: Status,
        status_reason: Option<Reason>,
        network: Option<Network>,
    }
}

/// The columns that [`read_user`] reads, of the tables that [`FROM_USERS`] joins.
pub(crate) const USER_COLUMN_LIST: &str = sql!(
    "u.id, u.username, u.created_at, u.display_name, u.bio, u.link, u.role, u.status, ",
    PROFILE_PHOTO_COLUMNS
);

/// The number of columns in [`USER_COLUMN_LIST`].
pub(crate) const USER_COLUMN_COUNT: usize = 14;

pub(crate) const FROM_USERS: &str = " FROM users u LEFT JOIN photos up ON up.id = u.photo_id ";

/// The role of the user `u`. The parameter has the names of owners, whatever their row says; see
/// [`owner_keys`].
macro_rules! role_of_user {
    ($owners:literal) => {
        concat!(
            "CASE replace(CAST(",
            $owners,
            " AS TEXT), ',' || u.username_key || ',', '') WHEN ",
            $owners,
            " THEN u.role ELSE 'owner' END"
        )
    };
}

pub(crate) use role_of_user;

statements! {
    INSERT = sql!(UserRow::INSERT_NEW, " ON CONFLICT (username_key) DO NOTHING RETURNING id");
    FIND = sql!("SELECT ", USER_COLUMN_LIST, FROM_USERS, "WHERE u.username_key = $1");
    BY_ID = sql!("SELECT ", USER_COLUMN_LIST, FROM_USERS, "WHERE u.id = $1");
    // `AUTHORS_AT_ONCE` parameters: one statement covers the authors of a default page of the feed.
    AUTHORS = sql!("SELECT ", USER_COLUMN_LIST, FROM_USERS, "WHERE u.id IN
        ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)");
    CREDENTIALS =
        sql!("SELECT ", USER_COLUMN_LIST, ", u.password_hash", FROM_USERS, "WHERE u.username_key = $1");
}

/// The number of ids that [`AUTHORS`] takes.
const AUTHORS_AT_ONCE: usize = 20;

/// The id for "no user" where a statement needs a parameter; real ids begin at 1.
pub(crate) const ANONYMOUS: UserId = UserId(0);

#[derive(Debug, Clone)]
pub struct NewUser {
    pub username: Username,
    pub password_hash: String,
    pub created_at: Timestamp,
    pub role: Role,
    pub status: Status,
    /// Where the request to join came from.
    pub network: Option<Network>,
}

impl NewUser {
    /// An active member.
    pub fn new(username: Username, password_hash: String, created_at: Timestamp) -> Self {
        Self {
            username,
            password_hash,
            created_at,
            role: Role::Member,
            status: Status::Active,
            network: None,
        }
    }
}

/// A user and the hash of their password.
#[derive(Debug, Clone)]
pub struct Credentials {
    pub user: User,
    pub password_hash: String,
}

impl Store {
    /// The user with this name, compared without case.
    pub async fn user(&self, username: &Username) -> Result<Option<User>, Error> {
        let key = username.key();
        self.read(move |tx| {
            async move { tx.first(FIND, &[key.as_str().into()], |row| read_user(row, 0)).await }.boxed()
        })
        .await
    }

    /// The user with this id.
    pub async fn author(&self, id: UserId) -> Result<Option<User>, Error> {
        self.read(move |tx| {
            async move { tx.first(BY_ID, &[id.into()], |row| read_user(row, 0)).await }.boxed()
        })
        .await
    }

    /// The users with these ids, in any order.
    pub async fn authors(&self, ids: Vec<UserId>) -> Result<Vec<User>, Error> {
        self.read(move |tx| async move { by_ids(tx, &ids).await }.boxed()).await
    }

    pub async fn credentials(&self, username: &Username) -> Result<Option<Credentials>, Error> {
        let key = username.key();
        self.read(move |tx| {
            async move {
                tx.first(CREDENTIALS, &[key.as_str().into()], |row| {
                    Ok(Credentials { user: read_user(row, 0)?, password_hash: row.text(USER_COLUMN_COUNT)? })
                })
                .await
            }
            .boxed()
        })
        .await
    }
}

/// Inserts a user; `None` when the username is taken.
pub(crate) async fn insert(tx: &mut Tx<'_>, new: NewUser) -> Result<Option<User>, Error> {
    let row = UserRow {
        // Assigned by the sequence.
        id: UserId(0),
        username_key: new.username.key(),
        username: new.username,
        password_hash: new.password_hash,
        photo_id: None,
        created_at: new.created_at,
        display_name: None,
        bio: None,
        link: None,
        role: new.role,
        status: new.status,
        status_reason: None,
        network: new.network,
    };
    let id = tx.first(INSERT, &row.values()[1..], |row| row.user_id(0)).await?;
    Ok(id.map(|id| User {
        id,
        username: row.username,
        photo: None,
        profile: None,
        created_at: row.created_at,
        role: row.role,
        status: row.status,
    }))
}

/// The user with this id, which a row references: a missing one is an error.
pub(crate) async fn by_id(tx: &mut Tx<'_>, id: UserId) -> Result<User, Error> {
    let user = tx.first(BY_ID, &[id.into()], |row| read_user(row, 0)).await?;
    user.ok_or_else(|| Error::Corrupt(format!("user {id} does not exist")))
}

/// Publishes that the profile and the posts of a user may be hidden or shown.
pub(crate) fn publish_visibility(tx: &mut Tx<'_>, id: UserId) {
    for key in [Key::user(id), Key::photos_of(id), Key::HIDDEN_USERS] {
        tx.publish(key);
    }
}

pub(crate) async fn by_ids(tx: &mut Tx<'_>, ids: &[UserId]) -> Result<Vec<User>, Error> {
    let mut users = Vec::with_capacity(ids.len());
    for chunk in ids.chunks(AUTHORS_AT_ONCE) {
        let mut values = [Value::from(ANONYMOUS); AUTHORS_AT_ONCE];
        for (value, id) in values.iter_mut().zip(chunk) {
            *value = (*id).into();
        }
        users.extend(tx.all(AUTHORS, &values, |row| read_user(row, 0)).await?);
    }
    Ok(users)
}

/// The keys of names, each between commas, which no name contains.
pub(crate) fn owner_keys(owners: &[Username]) -> String {
    owners.iter().map(|name| format!(",{},", name.key())).collect()
}

/// Reads [`USER_COLUMN_LIST`], beginning at `column`.
pub(crate) fn read_user(row: &Row<'_, '_>, column: usize) -> Result<User, Error> {
    let profile = Profile {
        display_name: DisplayName::read_nullable(row, column + 3)?.filter(DisplayName::is_visible),
        bio: Bio::read_nullable(row, column + 4)?,
        link: Link::read_nullable(row, column + 5)?,
    };
    Ok(User {
        id: row.user_id(column)?,
        username: Username::from_stored(row.text(column + 1)?),
        created_at: row.timestamp(column + 2)?,
        profile: (profile != Profile::default()).then(|| Box::new(profile)),
        role: Role::read(row, column + 6)?,
        status: Status::read(row, column + 7)?,
        photo: read_optional_photo(row, column + 8)?.map(Box::new),
    })
}
