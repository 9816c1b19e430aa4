//! Users: found by name or id, and the credentials that a login is checked against.

use futures_util::FutureExt;
use model::{PhotoId, Timestamp, User, UserId, Username};

use crate::error::Error;
use crate::photos::{PROFILE_PHOTO, read_optional_photo};
use crate::row::Row;
use crate::statements::{sql, statements};
use crate::store::Store;
use crate::table::{TableRow, table};
use crate::tx::Tx;
use crate::value::Value;

table! {
    /// A row of `users`.
    UserRow = "users", key (id), sequence {
        id: UserId,
        username: Username,
        username_key: String,
        password_hash: String,
        photo_id: Option<PhotoId>,
        created_at: Timestamp,
    }
}

/// The columns of a [`User`], from tables named `u` and `up`.
pub(crate) const USER: &str = sql!("u.id, u.username, u.created_at, ", PROFILE_PHOTO);

/// How many columns that are.
pub(crate) const USER_COLUMNS: usize = 8;

const FROM: &str = " FROM users u LEFT JOIN photos up ON up.id = u.photo_id ";

statements! {
    INSERT = sql!(UserRow::INSERT_NEW, " ON CONFLICT (username_key) DO NOTHING RETURNING id");
    FIND = sql!("SELECT ", USER, FROM, "WHERE u.username_key = $1");
    BY_ID = sql!("SELECT ", USER, FROM, "WHERE u.id = $1");
    // A page has at most as many authors as posts, and they are selected so many at a time.
    pub AUTHORS = sql!("SELECT ", USER, FROM, "WHERE u.id IN
        ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)");
    CREDENTIALS = sql!("SELECT ", USER, ", u.password_hash", FROM, "WHERE u.username_key = $1");
}

/// How many users [`AUTHORS`] selects.
const AUTHORS_AT_ONCE: usize = 20;

/// Stands for no user where a statement needs one: ids begin at 1.
pub(crate) const ANONYMOUS: UserId = UserId(0);

#[derive(Debug, Clone)]
pub struct NewUser {
    pub username: Username,
    pub password_hash: String,
    pub created_at: Timestamp,
}

/// A user and their password's hash.
#[derive(Debug, Clone)]
pub struct Credentials {
    pub user: User,
    pub password_hash: String,
}

impl Store {
    /// The user of this name, whatever its case.
    pub async fn user(&self, username: &Username) -> Result<Option<User>, Error> {
        let key = username.key();
        self.read(move |tx| {
            async move { tx.first(FIND, &[key.as_str().into()], |row| read_user(row, 0)).await }.boxed()
        })
        .await
    }

    /// The user with this id.
    pub async fn author(&self, id: UserId) -> Result<User, Error> {
        self.read(move |tx| by_id(tx, id).boxed()).await
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
                    Ok(Credentials { user: read_user(row, 0)?, password_hash: row.text(USER_COLUMNS)? })
                })
                .await
            }
            .boxed()
        })
        .await
    }
}

/// `None` when the name is taken.
pub(crate) async fn insert(tx: &mut Tx<'_>, new: NewUser) -> Result<Option<User>, Error> {
    let row = UserRow {
        // From the sequence.
        id: UserId(0),
        username_key: new.username.key(),
        username: new.username,
        password_hash: new.password_hash,
        photo_id: None,
        created_at: new.created_at,
    };
    let id = tx.first(INSERT, &row.values()[1..], |row| row.user_id(0)).await?;
    Ok(id.map(|id| User { id, username: row.username, photo: None, created_at: row.created_at }))
}

/// Users are never deleted, so a missing one is corruption.
pub(crate) async fn by_id(tx: &mut Tx<'_>, id: UserId) -> Result<User, Error> {
    let user = tx.first(BY_ID, &[id.into()], |row| read_user(row, 0)).await?;
    user.ok_or_else(|| Error::Corrupt(format!("user {id} does not exist")))
}

async fn by_ids(tx: &mut Tx<'_>, ids: &[UserId]) -> Result<Vec<User>, Error> {
    let mut users = Vec::with_capacity(ids.len());
    for some in ids.chunks(AUTHORS_AT_ONCE) {
        let mut values = [Value::from(ANONYMOUS); AUTHORS_AT_ONCE];
        for (value, id) in values.iter_mut().zip(some) {
            *value = (*id).into();
        }
        users.extend(tx.all(AUTHORS, &values, |row| read_user(row, 0)).await?);
    }
    Ok(users)
}

/// Reads [`USER`], beginning at `column`.
pub(crate) fn read_user(row: &Row<'_, '_>, column: usize) -> Result<User, Error> {
    Ok(User {
        id: row.user_id(column)?,
        username: Username::stored(row.text(column + 1)?),
        created_at: row.moment(column + 2)?,
        photo: read_optional_photo(row, column + 3)?.map(Box::new),
    })
}
