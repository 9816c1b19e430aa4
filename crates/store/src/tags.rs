//! The tags of posts. They follow from the messages, so they are not exported: an import derives them again.
//!
//! A row with an empty tag marks a post whose tags are not indexed yet: a post from before the table, or one
//! that a node of an earlier version has written during a rolling upgrade. Maintenance indexes them.

use futures_util::FutureExt;
use model::{Message, PostId, Tag};

use crate::error::Error;
use crate::lock_key::LockKey;
use crate::statements::statements;
use crate::store::Store;
use crate::tx::Tx;
use crate::value::Value;

statements! {
    INSERT = "INSERT INTO post_tags (tag, post_id) VALUES ($1, $2)";
    DELETE = "DELETE FROM post_tags WHERE post_id = $1";
    UNINDEXED = "SELECT post_id FROM post_tags WHERE tag = '' ORDER BY post_id DESC LIMIT $1";
    MESSAGE = "SELECT message FROM posts WHERE id = $1";
}

impl Store {
    /// Some posts whose tags are not indexed, newest first.
    pub async fn posts_without_tags(&self, limit: u32) -> Result<Vec<PostId>, Error> {
        self.read(move |tx| {
            async move { tx.all(UNINDEXED, &[i64::from(limit).into()], |row| row.post_id(0)).await }.boxed()
        })
        .await
    }

    /// Indexes the tags of a post by its current message.
    pub async fn index_tags(&self, post: PostId) -> Result<(), Error> {
        self.write(LockKey::Post(post), move |tx| {
            async move {
                let message = tx.first(MESSAGE, &[post.into()], |row| row.optional_text(0)).await?;
                let message = message.flatten().map(Message::from_stored);
                replace(tx, &[(post, message.as_ref())]).await
            }
            .boxed()
        })
        .await
    }
}

/// Whether a post with this message may have rows in `post_tags`.
pub(crate) fn may_have_tags(message: Option<&Message>) -> bool {
    message.is_some_and(|message| message.as_str().contains('#'))
}

/// Replaces the tags of posts by those in the given messages.
pub(crate) async fn replace(tx: &mut Tx<'_>, posts: &[(PostId, Option<&Message>)]) -> Result<(), Error> {
    let deleted: Vec<Vec<Value<'_>>> = posts.iter().map(|(post, _)| vec![(*post).into()]).collect();
    tx.execute_each(DELETE, &deleted).await?;
    let tags = |message: &Message| Tag::all_in(message.as_str());
    let tags: Vec<(PostId, Tag)> = posts
        .iter()
        .flat_map(|(post, message)| message.map(tags).unwrap_or_default().into_iter().map(|tag| (*post, tag)))
        .collect();
    let inserted: Vec<Vec<Value<'_>>> =
        tags.iter().map(|(post, tag)| vec![tag.as_str().into(), (*post).into()]).collect();
    tx.execute_each(INSERT, &inserted).await.map(drop)
}
