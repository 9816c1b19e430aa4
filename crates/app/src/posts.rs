//! Posts: create, read, edit and delete.

use imaging::RemovedMetadata;
use model::{
    Alt, Focus, Message, PhotoId, Post, PostContent, PostEdit, PostId, Refusal, RequestDigest, Status, UserId,
};
use store::{AccessCheck, CreateOutcome, Key, NewAuditEntry, NewPost, Replay, RequestKey, ResumableUpload};

use crate::caller::is_seen;
use crate::detached::detached;
use crate::quotas::quota_exceeded;
use crate::resumable_uploads::UPLOAD_COMPLETE;
use crate::upload::{CLAIM_LOST, PreparedFiles, PreparedPhoto};
use crate::{Actor, App, Caller, Client, Error, Settings, Sources, Upload};

const NOT_YOURS: Error = Error::Forbidden(Refusal::NotYourPost, "this post belongs to another user");

const NO_ORIGINAL: Error = Error::Conflict {
    field: Some("focus"),
    refusal: Refusal::OriginalNotKept,
    message: "the original of this photo is not kept, so its focus cannot be moved; post it again instead",
};

const PHOTO_CHANGED: Error = Error::Conflict {
    field: Some("focus"),
    refusal: Refusal::EditedMeanwhile,
    message: "the photo of this post was changed at the same time; read the post again and repeat the edit",
};

const POST_DELETED: Error = Error::Conflict {
    field: Some("Idempotency-Key"),
    refusal: Refusal::PostDeleted,
    message: "the post made with this Idempotency-Key has been deleted; use a new key to post again",
};

/// The parameters of a new post.
#[derive(Debug)]
pub struct Draft {
    pub upload: Upload,
    pub content: PostContent,
    /// The idempotency key, so that a retry does not post twice.
    pub key: Option<String>,
    /// The resumable upload that the post replaces.
    pub resumed: Option<PhotoId>,
}

impl Draft {
    /// Without an idempotency key.
    pub fn new(upload: Upload, content: PostContent) -> Self {
        Self { upload, content, key: None, resumed: None }
    }

    /// A parameter with its default counts as not sent.
    fn digest(&self) -> RequestDigest {
        let Self { upload, content, .. } = self;
        let focus = Some(upload.focus).filter(|focus| *focus != Focus::CENTRE).map(|focus| focus.to_string());
        RequestDigest::of([
            ("photo", Some(&upload.photo.sha256()[..])),
            ("message", content.message.as_ref().map(Message::as_str).map(str::as_bytes)),
            ("alt", upload.alt.as_ref().map(Alt::as_str).map(str::as_bytes)),
            ("focus", focus.as_deref().map(str::as_bytes)),
            ("share_original", content.share_original.then_some(b"true")),
        ])
    }
}

/// The post of an upload, new or replayed.
#[derive(Debug)]
pub enum Posted {
    /// With the kinds of metadata removed from the photo.
    New { post: Post, removed: RemovedMetadata },
    /// An earlier upload with the same idempotency key created it.
    Replayed(Post),
}

impl App {
    /// A post that the caller may see: one that is hidden only if they are its author or a moderator.
    pub async fn post(&self, caller: Option<&Caller>, id: PostId) -> Result<Post, Error> {
        let sources = self.sources();
        let post = self.read_post(&sources, caller, id).await;
        self.settle(&sources, post).await
    }

    /// The same as a part of a response, or of a memoised value.
    pub async fn read_post(
        &self,
        sources: &Sources,
        caller: Option<&Caller>,
        id: PostId,
    ) -> Result<Post, Error> {
        let viewer = caller.map(|caller| caller.user.id);
        sources.add(Key::post(id));
        sources.add(Key::likes_of(id));
        let post = self.0.store.post(id, viewer).await?.ok_or(Error::NO_SUCH_POST)?;
        let post = self.with_author(sources, post).await?;
        let is_author = || viewer == Some(post.user.id);
        let is_shown =
            post.hidden_reason.is_none() || caller.is_some_and(|caller| caller.is_moderator() || is_author());
        if is_shown && is_seen(caller, &post.user) { Ok(post) } else { Err(Error::NO_SUCH_POST) }
    }

    /// Checks what can be checked of a new post before the body of its request is read. Returns the post of
    /// an earlier request with the key whose digest is not known, so that any further one counts as its
    /// retry.
    pub async fn admit_post(
        &self,
        caller: &Caller,
        key: Option<&str>,
        resumed: Option<PhotoId>,
    ) -> Result<Option<Post>, Error> {
        match self.find_replay(caller, key).await? {
            None => self.check_may_post(caller, resumed).await.map(|()| None),
            Some(replay) if replay.digest.is_none() => self.replayed(replay, None).await.map(Some),
            Some(Replay { post: None, .. }) => Err(POST_DELETED),
            // The body tells whether it is a retry, which an exhausted quota must not prevent.
            Some(_) => Ok(None),
        }
    }

    /// The post of a resumable upload that is complete.
    pub async fn uploaded_post(&self, caller: &Caller, upload: &ResumableUpload) -> Result<Post, Error> {
        match self.find_replay(caller, Some(&upload.key)).await? {
            Some(replay) => self.replayed(replay, None).await,
            None => Err(UPLOAD_COMPLETE),
        }
    }

    async fn find_replay(&self, caller: &Caller, key: Option<&str>) -> Result<Option<Replay>, Error> {
        let Some(key) = key else { return Ok(None) };
        let since = self.0.clock.now().minus(Settings::IDEMPOTENCY_KEY_TTL);
        Ok(self.0.store.find_replay(caller.user.id, key.to_owned(), since).await?)
    }

    /// The post of an earlier request, unless `digest` tells that this one is no retry of it.
    async fn replayed(&self, replay: Replay, digest: Option<RequestDigest>) -> Result<Post, Error> {
        let Replay { id, post, digest: earlier } = replay;
        let post = post.ok_or(POST_DELETED)?;
        if digest.zip(earlier).is_some_and(|(digest, earlier)| digest != earlier) {
            return Err(Error::KeyReused(id));
        }
        self.with_author(&self.sources(), post).await
    }

    /// Fails if the caller may not post now, before the body of the request is read.
    pub async fn check_may_post(&self, caller: &Caller, resumed: Option<PhotoId>) -> Result<(), Error> {
        caller.check_active()?;
        let quota = self.post_quota(caller.role).await?;
        self.check_quota(caller.client, caller.user.id, quota, resumed).await
    }

    pub async fn create_post(&self, caller: &Caller, draft: Draft) -> Result<Posted, Error> {
        let digest = draft.digest();
        let Draft { upload, content, key, resumed } = draft;
        // Before the photo is decoded.
        if let Some(replay) = self.find_replay(caller, key.as_deref()).await? {
            return self.replayed(replay, Some(digest)).await.map(Posted::Replayed);
        }
        let key = key.map(|key| RequestKey { key, digest });
        let PreparedPhoto { photo, files, removed, at } = self.prepare(upload).await?;
        let (keys_since, quota) =
            (at.minus(Settings::IDEMPOTENCY_KEY_TTL), self.post_quota(caller.role).await?);
        let new = NewPost {
            content,
            key,
            keys_since,
            quota,
            upload: resumed,
            ..NewPost::new(caller.user.id, photo, at)
        };
        match self.store_post(files, new).await? {
            CreateOutcome::New(post) => {
                Ok(Posted::New { post: self.with_author(&self.sources(), post).await?, removed })
            }
            CreateOutcome::Replayed(replay) => {
                self.replayed(replay, Some(digest)).await.map(Posted::Replayed)
            }
            CreateOutcome::ClaimLost | CreateOutcome::AlreadyImported => Err(CLAIM_LOST),
            CreateOutcome::AuthorInactive => Err(Error::Inactive(Status::Suspended)),
            CreateOutcome::OverQuota(over) => Err(quota_exceeded(over, at)),
        }
    }

    /// Stores the files of a post, then its rows.
    pub(crate) async fn store_post(
        &self,
        files: PreparedFiles,
        new: NewPost,
    ) -> Result<CreateOutcome, Error> {
        let (app, at) = (self.clone(), new.created_at);
        detached(async move {
            let is_new = |created: &CreateOutcome| matches!(created, CreateOutcome::New(_));
            app.store_photo(files, at, app.0.store.create_post(new), is_new).await
        })
        .await
    }

    /// Fails as an edit by this caller would, before the body of the request is read.
    pub async fn check_editable(&self, caller: &Caller, id: PostId) -> Result<(), Error> {
        let author = self.post(Some(caller), id).await?.user.id;
        if author != caller.user.id {
            return Err(NOT_YOURS);
        }
        caller.check_active()
    }

    pub async fn edit_post(&self, caller: &Caller, id: PostId, edit: PostEdit) -> Result<Post, Error> {
        let post = granted(self.0.store.edit_post(id, caller.user.id, edit).await?)?;
        self.with_author(&self.sources(), post).await
    }

    /// Edits a post and moves the focus of its photo. The squares are cut again from the original, and the
    /// photo gets a new id, because images are immutable.
    pub async fn edit_post_focus(
        &self,
        caller: &Caller,
        client: Client,
        id: PostId,
        edit: PostEdit,
        focus: Focus,
    ) -> Result<Post, Error> {
        let current = self.0.store.post(id, None).await?.ok_or(Error::NO_SUCH_POST)?.photo;
        if current.focus == focus || current.is_square() {
            return self.edit_post(caller, id, edit).await;
        }
        // It occupies disk space in the staging folder, like an upload.
        let permit = self.begin_upload(client)?;
        permit.holder().set_busy(true);
        let photo = match self.copy_original(client, current.id).await {
            Ok(Some(photo)) => photo,
            failed => {
                // Another edit may have replaced the photo, and deleted its files.
                let post = self.0.store.post(id, None).await?.ok_or(Error::NO_SUCH_POST)?;
                let is_current = post.photo.id == current.id;
                return Err(if is_current { failed.err().unwrap_or(NO_ORIGINAL) } else { PHOTO_CHANGED });
            }
        };
        let upload = Upload { photo, alt: None, focus, client };
        let PreparedPhoto { photo, files, at, .. } = self.prepare(upload).await?;
        let (app, editor, old) = (self.clone(), caller.user.id, current.id);
        let edited = detached(async move {
            let replaced = app.0.store.replace_post_photo(id, editor, edit, old, photo, at);
            let is_new = |edited: &Option<AccessCheck<_>>| matches!(edited, Some(AccessCheck::Granted(_)));
            let edited = app.store_photo(files, at, replaced, is_new).await?;
            if is_new(&edited) {
                app.delete_photo_files(old).await;
            }
            Ok(edited)
        })
        .await?;
        self.with_author(&self.sources(), granted(edited.ok_or(PHOTO_CHANGED)?)?).await
    }

    /// Deletes a post with its likes, its photo and all rendered images.
    /// A moderator may delete the posts of others as well.
    pub async fn delete_post(
        &self,
        caller: &Caller,
        moderator: Option<&Actor>,
        id: PostId,
    ) -> Result<(), Error> {
        let author = self.post(Some(caller), id).await?.user.id;
        match moderator {
            Some(actor) if author != caller.user.id => self.moderate_delete(actor, id, None).await,
            _ => {
                self.delete_post_as(id, Some(caller.user.id), None).await?;
                let (user_id, username) = (caller.user.id.0, caller.user.username.as_str());
                tracing::info!(user_id, username, post_id = id.0, "post deleted");
                Ok(())
            }
        }
    }

    /// Deletes a post of `only_by`, or of any user for a moderator.
    pub(crate) async fn delete_post_as(
        &self,
        id: PostId,
        only_by: Option<UserId>,
        audit: Option<NewAuditEntry>,
    ) -> Result<(), Error> {
        let (app, now) = (self.clone(), self.0.clock.now());
        detached(async move {
            // Row first: maintenance deletes files without a row, but a row without files cannot be repaired.
            let photo = granted(app.0.store.delete_post(id, only_by, now, audit).await?)?;
            app.delete_photo_files(photo).await;
            Ok(())
        })
        .await
    }
}

fn granted<T>(access: AccessCheck<T>) -> Result<T, Error> {
    match access {
        AccessCheck::Granted(value) => Ok(value),
        AccessCheck::Forbidden => Err(NOT_YOURS),
        AccessCheck::Inactive => Err(Error::Inactive(Status::Suspended)),
        AccessCheck::Missing => Err(Error::NO_SUCH_POST),
    }
}
