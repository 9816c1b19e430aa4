//! Members: joining, being found by name, and what a login is held against.

use futures_util::FutureExt;
use model::{Timestamp, User, UserId, Username};

use crate::error::Error;
use crate::lock_key::LockKey;
use crate::photos::read_optional_photo;
use crate::posts::NOBODY;
use crate::row::Row;
use crate::sessions::{self, NewSession};
use crate::statements::statements;
use crate::store::Store;
use crate::tx::Tx;
use crate::value::Value;

/// The columns that make a [`User`], from tables named `u` and `up`.
macro_rules! user_columns {
    () => {
        "u.id, u.username, u.created_at, up.id, up.width, up.height, up.placeholder, up.alt"
    };
}
pub(crate) use user_columns;

statements! {
    INSERT = "INSERT INTO users (username, username_key, password_hash, created_at)
        VALUES ($1, $2, $3, $4) ON CONFLICT (username_key) DO NOTHING RETURNING id";
    FIND = concat!("SELECT ", user_columns!(), "
        FROM users u LEFT JOIN photos up ON up.id = u.photo_id WHERE u.username_key = $1");
    BY_ID = concat!("SELECT ", user_columns!(), "
        FROM users u LEFT JOIN photos up ON up.id = u.photo_id WHERE u.id = $1");
    // A page has as many authors at most as posts: they are asked for so many at a time.
    AUTHORS = concat!("SELECT ", user_columns!(), "
        FROM users u LEFT JOIN photos up ON up.id = u.photo_id
        WHERE u.id IN ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)");
    CREDENTIALS = concat!("SELECT ", user_columns!(), ", u.password_hash
        FROM users u LEFT JOIN photos up ON up.id = u.photo_id WHERE u.username_key = $1");
}

/// How many [`AUTHORS`] asks for.
const AUTHORS_AT_ONCE: usize = 20;

#[derive(Debug, Clone)]
pub struct NewUser {
    pub username: Username,
    pub password_hash: String,
    pub created_at: Timestamp,
}

/// A member and the hash their password must match.
#[derive(Debug, Clone)]
pub struct Credentials {
    pub user: User,
    pub password_hash: String,
}

impl Store {
    /// Makes a member and their first session; `None` when the name is taken.
    pub async fn join(&self, new: NewUser, session: NewSession) -> Result<Option<User>, Error> {
        let lock_key = LockKey::Username(new.username.key());
        self.write(lock_key, move |tx| {
            async move {
                let Some(id) = insert(tx, &new).await? else {
                    return Ok(None);
                };
                sessions::insert(tx, id, &session).await?;
                Ok(Some(User { id, username: new.username, photo: None, created_at: new.created_at }))
            }
            .boxed()
        })
        .await
    }

    /// The member of this name, whatever its case.
    pub async fn user(&self, username: &Username) -> Result<Option<User>, Error> {
        let key = username.key();
        self.read(move |tx| {
            async move { tx.first(FIND, &[key.as_str().into()], |row| read_user(row, 0)).await }.boxed()
        })
        .await
    }

    /// The member with this id.
    pub async fn author(&self, id: UserId) -> Result<User, Error> {
        self.read(move |tx| by_id(tx, id).boxed()).await
    }

    /// The members with these ids, in any order.
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

async fn insert(tx: &mut Tx<'_>, new: &NewUser) -> Result<Option<UserId>, Error> {
    let key = new.username.key();
    let values = [
        new.username.as_str().into(),
        key.as_str().into(),
        new.password_hash.as_str().into(),
        new.created_at.into(),
    ];
    tx.first(INSERT, &values, |row| row.user_id(0)).await
}

/// Members never leave, so one who is missing is nobody's mistake but ours.
pub(crate) async fn by_id(tx: &mut Tx<'_>, id: UserId) -> Result<User, Error> {
    let user = tx.first(BY_ID, &[id.into()], |row| read_user(row, 0)).await?;
    user.ok_or_else(|| Error::Corrupt(format!("user {id} is not there")))
}

async fn by_ids(tx: &mut Tx<'_>, ids: &[UserId]) -> Result<Vec<User>, Error> {
    let mut users = Vec::with_capacity(ids.len());
    for some in ids.chunks(AUTHORS_AT_ONCE) {
        // Nobody's id is in the places that are left over.
        let mut values = [Value::from(NOBODY); AUTHORS_AT_ONCE];
        for (value, id) in values.iter_mut().zip(some) {
            *value = (*id).into();
        }
        users.extend(tx.all(AUTHORS, &values, |row| read_user(row, 0)).await?);
    }
    Ok(users)
}

pub(crate) const USER_COLUMNS: usize = 8;

/// Reads [`user_columns!`] beginning at `column`.
pub(crate) fn read_user(row: &Row<'_, '_>, column: usize) -> Result<User, Error> {
    Ok(User {
        id: row.user_id(column)?,
        username: Username::stored(row.text(column + 1)?),
        created_at: row.moment(column + 2)?,
        photo: read_optional_photo(row, column + 3)?.map(Box::new),
    })
}
