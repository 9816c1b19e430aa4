//! Photos as square images.

use app::{App, Image, OutputFormat, Picture};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderMap, HeaderValue, StatusCode};
use model::Size;

use crate::http::error::ApiError;
use crate::http::extract::path::ImagePath;
use crate::http::state::Http;

const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

pub(crate) async fn image(
    State(http): State<Http>,
    path: ImagePath,
    request: Request,
) -> Result<Response, ApiError> {
    let photo = http.app.photo(path.photo).await?;
    let size: Size = path.size.parse().map_err(|rule: model::Invalid| ApiError::bad_size(rule.0))?;
    let found = find(&http, &photo, size, request.headers()).await?;
    let status = found.status();
    let Found { head, image } = found;
    Ok(match image {
        Some(image) => (status, head, [(CONTENT_LENGTH, image.bytes.len())], image.bytes).into_response(),
        None => (status, head).into_response(),
    })
}

/// An image with what is said about it; without one, the caller has these bytes already.
pub(crate) struct Found {
    pub(crate) head: HeaderMap,
    pub(crate) image: Option<Image>,
}

impl Found {
    pub(crate) fn status(&self) -> StatusCode {
        if self.image.is_some() { StatusCode::OK } else { StatusCode::NOT_MODIFIED }
    }
}

pub(crate) async fn find(
    http: &Http,
    photo: &Picture,
    size: Size,
    headers: &HeaderMap,
) -> Result<Found, ApiError> {
    let format = negotiate(headers);

    let about = |tag: Bytes| {
        let tag = HeaderValue::from_maybe_shared(tag).map_err(|_| ApiError::internal())?;
        // With room for what is added on the way out, since to grow means to sort everything in anew; and for
        // no more, since the next larger one is beyond what the allocator has at hand.
        let mut head = HeaderMap::with_capacity(6);
        head.insert(ETAG, tag);
        head.insert(CACHE_CONTROL, FOR_EVER);
        head.insert(VARY, HeaderValue::from_static("Accept"));
        Ok::<_, ApiError>(head)
    };
    // Whoever has it already need not wait for it to be made.
    if headers.contains_key(IF_NONE_MATCH) {
        let tag = App::image_tag(photo, size, format);
        if is_known(headers, &tag) {
            return Ok(Found { head: about(tag.into())?, image: None });
        }
    }
    let image = http.app.image(photo, size, format).await?;
    let mut head = about(image.tag.clone())?;
    head.insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    Ok(Found { head, image: Some(image) })
}

/// The best format the client names: a wildcard is no name, since old clients send it without meaning it.
fn negotiate(headers: &HeaderMap) -> OutputFormat {
    let accepted =
        headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(','));
    let (mut webp, mut jpeg) = (None, None);
    for range in accepted {
        let mut pieces = range.split(';').map(str::trim);
        let media_type = pieces.next().unwrap_or_default();
        let quality =
            pieces.find_map(|piece| piece.strip_prefix("q=")).map_or(1.0, |q| q.parse().unwrap_or(0.0));
        if media_type.eq_ignore_ascii_case("image/webp") {
            webp = Some(quality);
        } else if media_type.eq_ignore_ascii_case("image/jpeg") {
            jpeg = Some(quality);
        }
    }
    let webp: f32 = webp.unwrap_or(0.0);
    if webp > 0.0 && webp >= jpeg.unwrap_or(0.0) { OutputFormat::WebP } else { OutputFormat::Jpeg }
}

/// Whether `If-None-Match` names this tag; a weak form of it matches as well.
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let values = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webp_only_for_those_who_name_it() {
        for (accept, format) in [
            ("", OutputFormat::Jpeg),
            ("*/*", OutputFormat::Jpeg),
            ("image/*", OutputFormat::Jpeg),
            ("image/webp", OutputFormat::WebP),
            ("image/avif,image/webp,image/apng,*/*;q=0.8", OutputFormat::WebP),
            ("IMAGE/WEBP ; q=0.3", OutputFormat::WebP),
            ("image/webp;q=0", OutputFormat::Jpeg),
            ("image/jpeg, image/webp;q=0.5", OutputFormat::Jpeg),
            ("image/jpeg;q=0.5, image/webp", OutputFormat::WebP),
            ("image/webp;q=x", OutputFormat::Jpeg),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(negotiate(&headers), format, "{accept}");
        }
    }
}
