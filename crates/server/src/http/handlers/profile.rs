//! The profile of the current user.

use app::{Client, Upload};
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use model::{Alt, Bio, DisplayName, Focus, Link, ProfileEdit};

use crate::http::dto::{Empty, User};
use crate::http::error::ApiError;
use crate::http::extract::client_address::ClientAddress;
use crate::http::extract::form_body::FormBody;
use crate::http::extract::session::RequiredSession;
use crate::http::form::parameters::{Edit, form};
use crate::http::handlers::upload::{read_photo, set_removed_metadata_header};
use crate::http::json::json;
use crate::http::state::Http;

form! {
    /// A new profile photo.
    pub(crate) struct ProfilePhoto {
        file photo: "application/octet-stream" = "An image file; its format is detected by its content.",
        /// Alternative text that describes the photo, up to 1,000 characters. An empty one counts as none.
        alt: Option<Alt> = "Ada at her desk",
    }
}

form! {
    /// An edit of the profile. A parameter that is not sent leaves its text as it is, an empty one removes
    /// it.
    pub(crate) struct Profile {
        /// The name to show beside the username: one line of up to 64 characters.
        display_name: Edit<DisplayName> = "Ada Lovelace",
        /// What the user writes about themselves, up to 500 characters.
        bio: Edit<Bio> = "Photos of engines",
        /// The address of a website, which begins with `https://` or `http://`.
        link: Edit<Link> = "https://ada.example",
    }
}

pub(crate) async fn edit(
    State(http): State<Http>,
    RequiredSession(mut caller): RequiredSession,
    form: FormBody<Profile>,
) -> Result<Response, ApiError> {
    let Profile { display_name, bio, link } = form.read(&http, &mut caller).await?;
    let edit = ProfileEdit { display_name: display_name.0, bio: bio.0, link: link.0 };
    let user = http.app.edit_profile(&caller, edit).await?;
    Ok(json(StatusCode::OK, &User::from(&user)))
}

pub(crate) async fn set(
    State(http): State<Http>,
    RequiredSession(mut caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    form: FormBody<ProfilePhoto>,
) -> Result<Response, ApiError> {
    let client = Client::anonymous(address).with_user(caller.user.id);
    let (photo, form, _held) = read_photo(&http, &mut caller, client, form).await?;
    let upload = Upload { photo, alt: form.alt, focus: Focus::CENTRE, client };
    let (user, removed) = http.app.set_profile_photo(&caller, upload).await?;
    let mut response = json(StatusCode::OK, &User::from(&user));
    set_removed_metadata_header(&mut response, removed)?;
    Ok(response)
}

pub(crate) async fn delete(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
) -> Result<Response, ApiError> {
    http.app.delete_profile_photo(&caller).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}
