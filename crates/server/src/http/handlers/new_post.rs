//! The form of a new post, and the post that it creates: of one request, or of an upload in several.

use std::net::IpAddr;

use app::{Caller, Client, Draft, Posted, Upload};
use axum::response::Response;
use http::{HeaderValue, StatusCode};
use model::{Alt, Focus, Message, PhotoId, PostContent};

use crate::http::error::ApiError;
use crate::http::extract::form_body::FormBody;
use crate::http::form::parameters::form;
use crate::http::handlers::upload::{read_photo, set_removed_metadata_header};
use crate::http::json::json_bytes;
use crate::http::post_json::PostJson;
use crate::http::state::Http;

form! {
    /// A photo with an optional message.
    pub(crate) struct NewPost {
        file photo: "application/octet-stream" = "An image file; its format is detected by its content.",
        /// A message of up to 5,000 characters. An empty one counts as none.
        message: Option<Message> = "First light",
        /// Alternative text that describes the photo, up to 1,000 characters. An empty one counts as none.
        alt: Option<Alt> = "The sun rises over a harbour",
        /// The point that squares are cut around: two numbers from 0 to 1, from the left and from the top.
        /// The centre by default.
        focus: Option<Focus> = "0.5,0.25",
        /// Whether everyone may download the original; otherwise, and by default, only the author may.
        share_original: Option<bool> = true,
    }
}

/// Reads the form and creates its post. `resumed` is the resumable upload that the form is read from.
pub(crate) async fn create(
    http: &Http,
    caller: &mut Caller,
    address: IpAddr,
    key: Option<String>,
    resumed: Option<PhotoId>,
    form: FormBody<NewPost>,
) -> Result<Response, ApiError> {
    if let Some(replay) = admit(http, caller, key.as_deref(), resumed).await? {
        return Ok(replay);
    }
    let client = Client::anonymous(address).with_user(caller.user.id);
    let (photo, form, _held) = read_photo(http, caller, client, form).await?;
    let NewPost { message, alt, focus, share_original } = form;
    let upload = Upload { photo, alt, focus: focus.unwrap_or_default(), client };
    let content = PostContent { message, share_original: share_original.unwrap_or(false) };
    created(http.app.create_post(caller, Draft { upload, content, key, resumed }).await?)
}

/// What is checked before the body is read. A replay that does not depend on the body is returned.
pub(crate) async fn admit(
    http: &Http,
    caller: &Caller,
    key: Option<&str>,
    resumed: Option<PhotoId>,
) -> Result<Option<Response>, ApiError> {
    http.app.admit_post(caller, key, resumed).await?.map(|post| created(Posted::Replayed(post))).transpose()
}

pub(crate) fn created(posted: Posted) -> Result<Response, ApiError> {
    match posted {
        Posted::Replayed(post) => {
            let mut response = json_bytes(StatusCode::CREATED, PostJson::post(&post).bytes());
            response.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
            Ok(response)
        }
        Posted::New { post, removed } => {
            let mut response = json_bytes(StatusCode::CREATED, PostJson::post(&post).bytes());
            set_removed_metadata_header(&mut response, removed)?;
            Ok(response)
        }
    }
}
