//! Posting a photo, reading, editing and deleting posts.

use imaging::Removed;
use model::{Post, PostContent, PostEdit, PostId, UserId};
use store::{Access, Created, NewPost, Replay};

use crate::detached::detached;
use crate::upload::{CLAIM_LOST, Prepared};
use crate::{App, Caller, Error, Settings, Upload};

pub(crate) const NO_SUCH_POST: Error = Error::NotFound("there is no such post");
const NOT_YOURS: Error = Error::Forbidden("this post belongs to somebody else");

/// Everything that makes a post, as it arrived.
#[derive(Debug)]
pub struct Draft {
    pub upload: Upload,
    pub content: PostContent,
    /// The client's own name for this upload, so that a retry does not post twice.
    pub key: Option<String>,
}

impl Draft {
    /// Without an idempotency key.
    pub fn new(upload: Upload, content: PostContent) -> Self {
        Self { upload, content, key: None }
    }
}

/// The post an upload made, now or before.
#[derive(Debug)]
pub enum Posted {
    /// With what was taken out of the photo.
    New { post: Post, removed: Removed },
    /// The same upload had come before.
    Before(Post),
}

impl App {
    pub async fn post(&self, caller: Option<&Caller>, id: PostId) -> Result<Post, Error> {
        let viewer = caller.map(|caller| caller.user.id);
        self.with_author(self.0.store.post(id, viewer).await?.ok_or(NO_SUCH_POST)?).await
    }

    /// What an earlier upload with this key made: saves a retry the work of sending it all again.
    pub async fn repeated(&self, caller: &Caller, key: &str) -> Result<Option<Post>, Error> {
        let since = self.0.clock.now().minus(Settings::KEY_LIFE);
        match self.0.store.find_replay(caller.user.id, key.to_owned(), since).await? {
            Some(replay) => self.with_author(replayed(replay)?).await.map(Some),
            None => Ok(None),
        }
    }

    pub async fn create_post(&self, caller: &Caller, draft: Draft) -> Result<Posted, Error> {
        let Draft { upload, content, key } = draft;
        let Prepared { photo, files, removed, at } = self.prepare(upload).await?;
        let keys_since = at.minus(Settings::KEY_LIFE);
        let new = NewPost { content, key, keys_since, ..NewPost::new(caller.user.id, photo, at) };
        let app = self.clone();
        let created = detached(async move {
            let made = |created: &Created| matches!(created, Created::New(_));
            app.keep(files, at, app.0.store.create_post(new), made).await
        });
        match created.await? {
            Created::New(post) => Ok(Posted::New { post: self.with_author(post).await?, removed }),
            Created::Replayed(replay) => self.with_author(replayed(replay)?).await.map(Posted::Before),
            Created::ClaimLost => Err(CLAIM_LOST),
        }
    }

    /// Fails as an edit by this caller would, before its words have been read.
    pub async fn check_editable(&self, caller: &Caller, id: PostId) -> Result<(), Error> {
        match self.0.store.post_author(id).await? {
            None => Err(NO_SUCH_POST),
            Some(author) if author != caller.user.id => Err(NOT_YOURS),
            Some(_) => Ok(()),
        }
    }

    pub async fn edit_post(&self, caller: &Caller, id: PostId, edit: PostEdit) -> Result<Post, Error> {
        self.with_author(granted(self.0.store.edit_post(id, caller.user.id, edit).await?)?).await
    }

    /// Deletes a post with its likes, its photo and every image made of it.
    pub async fn delete_post(&self, caller: &Caller, id: PostId) -> Result<(), Error> {
        let only_by = (!caller.is_admin).then_some(caller.user.id);
        let (app, now) = (self.clone(), self.0.clock.now());
        detached(async move {
            // Row first: bytes without a row are noted and collected, a row without bytes cannot be mended.
            let photo = granted(app.0.store.delete_post(id, only_by, now).await?)?;
            app.remove_bytes(photo).await;
            Ok(())
        })
        .await
    }
}

fn replayed(replay: Replay) -> Result<Post<UserId>, Error> {
    match replay {
        Replay::Post(post) => Ok(post),
        Replay::Deleted => Err(Error::Conflict {
            field: Some("Idempotency-Key"),
            message: "the post made with this Idempotency-Key has been deleted; use a new key to post again",
        }),
    }
}

fn granted<T>(access: Access<T>) -> Result<T, Error> {
    match access {
        Access::Granted(value) => Ok(value),
        Access::Forbidden => Err(NOT_YOURS),
        Access::Missing => Err(NO_SUCH_POST),
    }
}
