//! The rules that rows of another instance must obey: those of the model for each column, and those between
//! columns and rows.
//!
//! The service trusts its rows: it builds pages from usernames without escaping them, and hashes with stored
//! parameters. The database checks references too, but its error does not say which row is to blame.

use std::collections::{HashMap, HashSet};

use app::{InputFormat, check_instance_setting, check_password_hash};
use model::{IdempotencyKey, PhotoId, PostId, Status, UserId, ValidationError, validate_dimensions};
use store::{ExportRow, PhotoRow, PostRow, UserRow};

/// Checks the rows of an export in their order. A row takes up to about 100 bytes of memory.
#[derive(Default)]
pub(crate) struct RowRules {
    last: Option<ExportRow>,
    users: HashSet<UserId>,
    username_keys: HashSet<String>,
    posts: HashSet<PostId>,
    /// The width and height of photos that no row has referenced yet: each belongs to one user or post.
    unused_photos: HashMap<PhotoId, (u32, u32)>,
}

impl RowRules {
    /// A row that breaks a rule counts as absent, so that rows that refer to it break one too. `following` is
    /// the next row, if known.
    pub(crate) fn check(
        &mut self,
        row: &ExportRow,
        following: Option<&ExportRow>,
    ) -> Result<(), ValidationError> {
        row.validate()?;
        self.check_order(row, following)?;
        match row {
            ExportRow::Photo(photo) => {
                check_photo(photo)?;
                self.unused_photos.insert(photo.id, (photo.width, photo.height));
            }
            ExportRow::User(user) => self.check_user(user)?,
            ExportRow::Session(session) => self.check_user_exists(session.user_id)?,
            ExportRow::Post(post) => self.check_post(post)?,
            ExportRow::Like(like) => {
                self.check_user_exists(like.user_id)?;
                self.check_post_exists(like.post_id)?;
            }
            ExportRow::IdempotencyKey(key) => {
                self.check_user_exists(key.user_id)?;
                // Its post may be deleted.
                key.key.parse::<IdempotencyKey>()?;
            }
            ExportRow::RecoveryCode(code) => {
                self.check_user_exists(code.user_id)?;
                code.made_by.map_or(Ok(()), |user| self.check_user_exists(user))?;
            }
            ExportRow::Block(block) => {
                self.check_user_exists(block.user_id)?;
                self.check_user_exists(block.blocked_id)?;
            }
            ExportRow::HiddenPost(hidden) => {
                self.check_user_exists(hidden.user_id)?;
                self.check_post_exists(hidden.post_id)?;
            }
            ExportRow::Report(report) => {
                // Its post may be deleted.
                self.check_user_exists(report.user_id)?;
                report.reporter_id.map_or(Ok(()), |user| self.check_user_exists(user))?;
            }
            ExportRow::Invitation(invitation) => {
                invitation.user_id.map_or(Ok(()), |user| self.check_user_exists(user))?;
            }
            ExportRow::InstanceSetting(setting) => {
                check_instance_setting(&setting.key, &setting.value)?;
            }
            // Its post may be deleted.
            ExportRow::ImportedPost(imported) => self.check_user_exists(imported.user_id)?,
            // They outlive the users and posts that they name.
            ExportRow::AuditEntry(_) | ExportRow::HeldName(_) => {}
            ExportRow::Sequence(_) => {}
        }
        self.last = Some(row.clone());
        Ok(())
    }

    /// Rows come in the order of their keys, which excludes duplicates. Of two rows that are out of order,
    /// the one to blame is the one that does not fit its other neighbour either.
    fn check_order(&self, row: &ExportRow, following: Option<&ExportRow>) -> Result<(), ValidationError> {
        let Some(last) = self.last.as_ref().filter(|last| last.table() == row.table()) else { return Ok(()) };
        let fits = |row: &ExportRow| row.is_after(last);
        let is_outlier = following.is_some_and(|following| fits(following) && !following.is_after(row));
        // Sequences have no order.
        if matches!(row, ExportRow::Sequence(_)) || fits(row) && !is_outlier {
            return Ok(());
        }
        broken(format!("it is a duplicate of the row with {last}, or out of order"))
    }

    fn check_user(&mut self, user: &UserRow) -> Result<(), ValidationError> {
        if user.status == Status::Deleted {
            // Its name is free, and it has no password: maintenance deletes the rest of it.
            if user.username_key != format!("!{}", user.id) || !user.password_hash.is_empty() {
                return broken("username_key, password_hash: a deleted user has neither".to_owned());
            }
        } else {
            if user.username_key != user.username.key() {
                return broken("username_key: it is not the username in lower case".to_owned());
            }
            if let Err(rule) = check_password_hash(&user.password_hash) {
                return broken(format!("password_hash: {rule}"));
            }
        }
        if self.username_keys.contains(&user.username_key) {
            return broken(format!("username: another user is called {}", user.username));
        }
        if let Some(photo) = user.photo_id {
            self.use_photo(photo)?;
        }
        self.username_keys.insert(user.username_key.clone());
        self.users.insert(user.id);
        Ok(())
    }

    fn check_post(&mut self, post: &PostRow) -> Result<(), ValidationError> {
        self.check_user_exists(post.user_id)?;
        if post.like_count < 0 {
            return broken(format!("like_count: {} is negative", post.like_count));
        }
        match self.unused_photos.get(&post.photo_id) {
            Some(&size) if size != (post.width, post.height) => {
                return broken("width, height: they are not those of its photo".to_owned());
            }
            _ => self.use_photo(post.photo_id)?,
        }
        self.posts.insert(post.id);
        Ok(())
    }

    fn use_photo(&mut self, photo: PhotoId) -> Result<(), ValidationError> {
        match self.unused_photos.remove(&photo) {
            Some(_) => Ok(()),
            None => broken(format!("photo_id: there is no photo {photo}, or another row has it")),
        }
    }

    fn check_post_exists(&self, post: PostId) -> Result<(), ValidationError> {
        if self.posts.contains(&post) { Ok(()) } else { broken(format!("post_id: there is no post {post}")) }
    }

    fn check_user_exists(&self, user: UserId) -> Result<(), ValidationError> {
        if self.users.contains(&user) { Ok(()) } else { broken(format!("user_id: there is no user {user}")) }
    }
}

fn check_photo(photo: &PhotoRow) -> Result<(), ValidationError> {
    validate_dimensions(photo.width, photo.height)?;
    match (&photo.original, photo.orientation) {
        (None, None) => Ok(()),
        (Some(format), Some(1..=8)) if InputFormat::ALL.iter().any(|known| known.name() == format) => Ok(()),
        _ => broken("original, orientation: not a format and an EXIF orientation from 1 to 8".to_owned()),
    }
}

fn broken(rule: String) -> Result<(), ValidationError> {
    Err(ValidationError::new(rule))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use store::Table;

    use super::*;

    const HASH: &str =
        "$argon2id$v=19$m=19456,t=2,p=1$AwMDAwMDAwMDAwMDAwMDAw$1RpFwQ8K1mUz0kqD3kV0Q0d4yq6iX8nT2l9n4Q5eJ1M";
    const AVATAR: &str = "0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5b";
    const PHOTO: &str = "0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5c";

    /// A valid row of every table, and two of users.
    fn rows() -> Vec<(Table, Value)> {
        let photo = |id| {
            json!({ "id": id, "width": 8, "height": 6, "placeholder": "AQ==", "bytes": 13, "original": "png",
                "orientation": 1, "alt": "Swans", "created_at": 5 })
        };
        // An account from before names that a URL cannot carry were refused.
        let user = |id, name, photo| {
            json!({ "id": id, "username": name, "username_key": name, "password_hash": HASH, "photo_id": photo,
                "created_at": 5 })
        };
        vec![
            (Table::Photos, photo(AVATAR)),
            (Table::Photos, photo(PHOTO)),
            (Table::Users, user(1, "..", Some(AVATAR))),
            (Table::Users, user(2, "bob", None)),
            (
                Table::Sessions,
                json!({ "token_hash": "AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=", "user_id": 1,
                    "created_at": 5, "last_used_at": 5 }),
            ),
            (
                Table::Posts,
                json!({ "id": 1, "user_id": 1, "photo_id": PHOTO, "width": 8, "height": 6, "placeholder": "AQ==",
                    "alt": null, "message": "Hello", "like_count": 1, "created_at": 5 }),
            ),
            (Table::Likes, json!({ "user_id": 2, "post_id": 1, "created_at": 5 })),
            (Table::IdempotencyKeys, json!({ "user_id": 1, "key": "k", "post_id": 9, "created_at": 5 })),
            (Table::Sequences, json!({ "table": "posts", "last": 9 })),
        ]
    }

    /// The rule that the first invalid row breaks.
    fn first_broken(rows: Vec<(Table, Value)>) -> Option<String> {
        let mut rules = RowRules::default();
        let rows = rows.into_iter().map(|(table, row)| table.deserialize(row));
        rows.map(|row| row.map_err(|error| error.to_string())).find_map(|row| {
            row.and_then(|row| rules.check(&row, None).map_err(|rule| rule.to_string())).err()
        })
    }

    #[test]
    fn a_value_that_the_api_would_refuse_is_refused_in_every_column() {
        assert_eq!(first_broken(rows()), None);
        let long = "a".repeat(5_001);
        let expensive = HASH.replace("m=19456", "m=8388608");
        for (row, column, value, rule) in [
            (0, "id", json!("x"), "id"),
            (0, "width", json!(0), "pixels"),
            (0, "width", json!(4_294_967_295_u32), "pixels"),
            (0, "placeholder", json!("A".repeat(40)), "placeholder"),
            (0, "bytes", json!(-1), "bytes"),
            (0, "original", json!("exe"), "original"),
            (0, "original", json!(null), "original"),
            (0, "orientation", json!(9), "original"),
            (0, "alt", json!(long), "1000 are allowed"),
            (0, "alt", json!(""), "empty"),
            (0, "created_at", json!(-1), "created_at"),
            (1, "id", json!(AVATAR), "duplicate"),
            (2, "id", json!(0), "id: "),
            (2, "id", json!(i64::MAX), "id: "),
            (2, "username", json!("a\",\"admin\":\""), "username: "),
            (2, "username_key", json!("ada"), "username_key"),
            (2, "password_hash", json!("hash"), "password_hash"),
            (2, "password_hash", json!(expensive), "limit"),
            (2, "network", json!(1_i64 << 30), "network"),
            (2, "photo_id", json!(PHOTO.replace('0', "1")), "there is no photo"),
            (3, "id", json!(1), "duplicate"),
            (3, "photo_id", json!(AVATAR), "another row has it"),
            (4, "token_hash", json!("AwMD"), "token_hash"),
            (4, "user_id", json!(3), "there is no user 3"),
            (4, "last_used_at", json!(i64::MAX), "last_used_at"),
            (5, "user_id", json!(3), "there is no user 3"),
            (5, "photo_id", json!(AVATAR), "another row has it"),
            (5, "height", json!(7), "height"),
            (5, "message", json!("a\0b"), "NUL"),
            (5, "message", json!(long), "5000 are allowed"),
            (5, "like_count", json!(-1), "negative"),
            (6, "user_id", json!(3), "there is no user 3"),
            (6, "post_id", json!(2), "there is no post 2"),
            (7, "user_id", json!(3), "there is no user 3"),
            (7, "key", json!("two words"), "visible ASCII"),
            (7, "post_id", json!(0), "post_id"),
            (8, "table", json!("likes"), "sequence"),
            (8, "last", json!(-1), "not an id"),
        ] {
            let mut changed = rows();
            changed[row].1[column] = value.clone();
            let broken = first_broken(changed);
            assert!(
                broken.as_ref().is_some_and(|broken| broken.contains(rule)),
                "{column} {value}: {broken:?}"
            );
        }
        let mut changed = rows();
        (changed[3].1["username"], changed[3].1["username_key"]) = (json!("BOB"), json!("bob"));
        changed.insert(4, changed[3].clone());
        changed[4].1["id"] = json!(3);
        assert!(first_broken(changed).is_some_and(|broken| broken.contains("another user is called")));
    }

    #[test]
    fn of_two_rows_out_of_order_the_outlier_is_refused() {
        let like = |user, post| {
            let row = json!({ "user_id": user, "post_id": post, "created_at": 5 });
            Table::Likes.deserialize(row).unwrap()
        };
        let mut rules = RowRules::default();
        rules.users.extend([UserId(1), UserId(2), UserId(9)]);
        rules.posts.extend((1..=3).map(PostId));
        let likes = [like(1, 1), like(9, 2), like(1, 3), like(1, 1), like(2, 1)];
        let outcomes = (0..likes.len()).map(|at| rules.check(&likes[at], likes.get(at + 1)).is_ok());
        assert_eq!(outcomes.collect::<Vec<_>>(), [true, false, true, false, true]);
    }
}
