//! Posts: create, read, edit, delete.

use std::sync::Arc;

use app::{Actor, Client, Sources};
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use model::{Alt, Focus, Message, Post, PostEdit, PostId, Role};

use crate::http::dto::Empty;
use crate::http::error::ApiError;
use crate::http::extract::client_address::ClientAddress;
use crate::http::extract::form_body::FormBody;
use crate::http::extract::path::PathId;
use crate::http::extract::session::{OptionalSession, RequiredSession};
use crate::http::form::parameters::{Edit, form};
use crate::http::handlers::new_post::{self, NewPost};
use crate::http::handlers::resumable_uploads::{self, UploadFields};
use crate::http::handlers::upload::IdempotencyKey;
use crate::http::json::{json, json_bytes};
use crate::http::post_json::PostJson;
use crate::http::state::Http;

form! {
    /// What to change of a post.
    pub(crate) struct PostChange as "PostEdit" {
        /// The new message. An empty one removes it; without the parameter it stays as it is.
        message: Edit<Message> = "First light, at last",
        /// The new alternative text. An empty one removes it; without the parameter it stays as it is.
        alt: Edit<Alt> = "The sun rises over a harbour",
        /// The point that squares are cut around. A change gives the photo a new id; the old one answers 404.
        focus: Option<Focus> = "0.5,0.25",
        /// Whether everyone may download the original.
        share_original: Option<bool> = true,
    }
}

pub(crate) async fn create(
    State(http): State<Http>,
    RequiredSession(mut caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    IdempotencyKey(key): IdempotencyKey,
    form: FormBody<NewPost>,
) -> Result<Response, ApiError> {
    let fields = UploadFields::of(&form.headers);
    match fields.complete {
        None => new_post::create(&http, &mut caller, address, key, None, form).await,
        // There is nothing to resume: without interim responses the client does not know the upload.
        Some(true) => {
            fields.whole_length(0, None)?;
            let created = new_post::create(&http, &mut caller, address, key, None, form).await;
            resumable_uploads::of_whole_body(created)
        }
        Some(false) => resumable_uploads::start(http, caller, address, key, fields, form).await,
    }
}

/// Why a post is not put into the response cache.
enum Uncached {
    Hidden(Box<Post>),
    Error(ApiError),
}

impl Uncached {
    fn of(error: app::Error) -> Self {
        Self::Error(error.into())
    }
}

/// A post from the response cache, with the caller's like.
pub(crate) async fn get(
    State(http): State<Http>,
    OptionalSession(caller): OptionalSession,
    PathId(id): PathId<PostId>,
) -> Result<Response, ApiError> {
    let (sources, caller) = (http.app.sources(), caller.as_ref());
    let compose = || async {
        let fill = async |sources: Arc<Sources>| {
            let post = http.app.read_post(&sources, caller, id).await.map_err(Uncached::of)?;
            // Only some callers see it.
            if post.hidden_reason.is_some() || !post.user.status.is_shown() {
                return Err(Uncached::Hidden(Box::new(post)));
            }
            Ok(Arc::new(PostJson::post(&Post { is_liked: false, ..post })))
        };
        let json = match http.responses.posts.get(&sources, id, fill).await {
            Ok(json) => json,
            Err(Uncached::Hidden(post)) => return Ok(PostJson::post(&post).bytes()),
            Err(Uncached::Error(error)) => return Err(error),
        };
        let Some(caller) = caller else { return Ok(json.bytes()) };
        let is_liked = http.app.likes(&sources, caller, id).await?;
        Ok::<_, ApiError>(json.with_likes(|_| is_liked))
    };
    let json = match http.app.of_one_moment(&sources, compose).await? {
        Some(json) => json,
        None => PostJson::post(&http.app.post(caller, id).await?).bytes(),
    };
    Ok(json_bytes(StatusCode::OK, json))
}

pub(crate) async fn edit(
    State(http): State<Http>,
    RequiredSession(mut caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(id): PathId<PostId>,
    form: FormBody<PostChange>,
) -> Result<Response, ApiError> {
    // A 404 or 403 takes precedence over an error of the form.
    http.app.check_editable(&caller, id).await?;
    let PostChange { message, alt, focus, share_original } = form.read(&http, &mut caller).await?;
    let edit = PostEdit { message: message.0, alt: alt.0, share_original };
    let post = match focus {
        Some(focus) => {
            let client = Client::anonymous(address).with_user(caller.user.id);
            Box::pin(http.app.edit_post_focus(&caller, client, id, edit, focus)).await?
        }
        None if edit.is_empty() => http.app.post(Some(&caller), id).await?,
        None => http.app.edit_post(&caller, id, edit).await?,
    };
    Ok(json_bytes(StatusCode::OK, PostJson::post(&post).bytes()))
}

pub(crate) async fn delete(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(id): PathId<PostId>,
) -> Result<Response, ApiError> {
    let actor = Actor::new(&caller, address, Role::Moderator).ok();
    http.app.delete_post(&caller, actor.as_ref(), id).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}
