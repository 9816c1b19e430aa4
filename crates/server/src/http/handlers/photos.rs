//! Photos as images and as originals: content negotiation, and conditional requests by ETag
//! (`If-None-Match`).

use std::net::IpAddr;

use app::{App, Avif, Client, Image, OutputFormat, PhotoHandle};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::try_unfold;
use http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use model::{ImageSize, PhotoId};

use crate::http::error::ApiError;
use crate::http::etag::{if_none_match_contains, if_none_match_names};
use crate::http::extract::client_address::ClientAddress;
use crate::http::extract::path::{FitPath, ImagePath, PathId};
use crate::http::extract::session::OptionalSession;
use crate::http::json::respond;
use crate::http::state::Http;

/// An image never changes: its URL contains the id of an immutable photo.
const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// The image of a client that would take an AVIF, which is not encoded yet: it asks again soon.
const UNTIL_AVIF: HeaderValue = HeaderValue::from_static("public, max-age=60");

/// An original, which only its author reads unless it is shared.
const REVALIDATED: HeaderValue = HeaderValue::from_static("private, no-cache");

/// An image that only some users see.
const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-store");

pub(crate) async fn image(
    State(http): State<Http>,
    ClientAddress(client): ClientAddress,
    path: ImagePath,
    request: Request,
) -> Result<Response, ApiError> {
    let photo = find(&http, path.photo, request.headers()).await?;
    let size = path.size.parse().map_err(|rule: model::ValidationError| ApiError::bad_size(rule.message))?;
    image_response(&http, client, &photo, ImageSize::Square(size), request.headers()).await
}

/// The whole photo.
pub(crate) async fn fit(
    State(http): State<Http>,
    ClientAddress(client): ClientAddress,
    path: FitPath,
    request: Request,
) -> Result<Response, ApiError> {
    let photo = find(&http, path.photo, request.headers()).await?;
    let size =
        path.longest.parse().map_err(|rule: model::ValidationError| ApiError::bad_size(rule.message))?;
    image_response(&http, client, &photo, ImageSize::Fit(size), request.headers()).await
}

/// The original without its metadata. Whether the caller may read it can change, so every use is revalidated.
pub(crate) async fn original(
    State(http): State<Http>,
    OptionalSession(caller): OptionalSession,
    ClientAddress(address): ClientAddress,
    PathId(id): PathId<PhotoId>,
    request: Request,
) -> Result<Response, ApiError> {
    let client = Client::anonymous(address);
    let client = caller.as_ref().map_or(client, |caller| client.with_user(caller.user.id));
    let access = match http.app.check_original(caller.as_ref(), id).await {
        // The author has to log in first.
        Err(app::Error::Forbidden(..)) if caller.is_none() => return Err(ApiError::unauthorized()),
        checked => checked?,
    };
    let etag = format!("\"{id}-original\"");
    let caching = [
        (ETAG, HeaderValue::try_from(&etag).map_err(|_| ApiError::internal())?),
        (CACHE_CONTROL, REVALIDATED),
    ];
    if if_none_match_contains(request.headers(), &etag) {
        return Ok((StatusCode::NOT_MODIFIED, caching).into_response());
    }
    let original = http.app.original(client, access).await?;
    let disposition = format!("inline; filename=\"{id}.{}\"", original.format.extension());
    let content = [
        (CONTENT_TYPE, HeaderValue::from_static(original.format.media_type())),
        (CONTENT_LENGTH, original.length().into()),
        (CONTENT_DISPOSITION, HeaderValue::try_from(disposition).map_err(|_| ApiError::internal())?),
    ];
    let chunks = try_unfold(original, async |mut original| {
        Ok::<_, app::Error>(original.next().await?.map(|bytes| (bytes, original)))
    });
    Ok((caching, content, Body::from_stream(chunks)).into_response())
}

/// Looks a photo up. One that is hidden is found for its owner and for moderators.
async fn find(http: &Http, id: PhotoId, headers: &HeaderMap) -> Result<FoundPhoto, ApiError> {
    match http.app.photo(id).await {
        Ok(photo) => Ok(FoundPhoto { photo, is_hidden: false }),
        // Boxed, so that it does not enlarge the future of every image.
        Err(error @ app::Error::NotFound(_)) => Box::pin(find_hidden(http, id, headers, error)).await,
        Err(error) => Err(error.into()),
    }
}

async fn find_hidden(
    http: &Http,
    id: PhotoId,
    headers: &HeaderMap,
    error: app::Error,
) -> Result<FoundPhoto, ApiError> {
    match OptionalSession::of(http, headers).await? {
        OptionalSession(Some(caller)) => {
            Ok(FoundPhoto { photo: http.app.hidden_photo(&caller, id).await?, is_hidden: true })
        }
        OptionalSession(None) => Err(error.into()),
    }
}

struct FoundPhoto {
    photo: PhotoHandle,
    /// Only some users see it, so no shared cache may store its images.
    is_hidden: bool,
}

async fn image_response(
    http: &Http,
    client: IpAddr,
    found: &FoundPhoto,
    size: ImageSize,
    request_headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let (FoundPhoto { photo, is_hidden }, client) = (found, Client::anonymous(client));
    let AcceptedFormats { avif, other: format } = AcceptedFormats::of(request_headers);
    let mut cache_control = if *is_hidden { PRIVATE } else { IMMUTABLE };
    // Few users see a hidden photo, which is not worth an AVIF.
    let is_avif_wanted = avif && !is_hidden;
    if is_avif_wanted {
        // Also if it has left the caches since, or was encoded by another node.
        let etag =
            || http.app.avif_etag(photo, size).filter(|etag| if_none_match_names(request_headers, etag));
        if request_headers.contains_key(IF_NONE_MATCH)
            && let Some(etag) = etag()
        {
            return not_modified(etag.into(), cache_control);
        }
        match http.app.avif(photo, size).await? {
            Avif::Ready(image) if if_none_match_names(request_headers, "*") => {
                return not_modified(image.etag, cache_control);
            }
            Avif::Ready(image) => return image_ok(image, OutputFormat::Avif, cache_control),
            Avif::NotYet => cache_control = UNTIL_AVIF,
            Avif::Never => {}
        }
    }
    // Conditional request: the ETag follows from the parameters, so a match needs no render.
    let known = request_headers.contains_key(IF_NONE_MATCH).then(|| App::image_etag(photo, size, format));
    let response = match known.filter(|etag| if_none_match_contains(request_headers, etag)) {
        Some(etag) => not_modified(etag.into(), cache_control),
        // Single-flight: concurrent requests for the same image share one render.
        None => image_ok(http.app.image(client, photo, size, format).await?, format, cache_control),
    };
    if is_avif_wanted {
        http.app.request_avif(client, photo, size);
    }
    response
}

fn image_ok(image: Image, format: OutputFormat, cache_control: HeaderValue) -> Result<Response, ApiError> {
    let mut headers = caching_headers(image.etag, cache_control)?;
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    Ok(respond(StatusCode::OK, headers, image.bytes))
}

fn not_modified(etag: Bytes, cache_control: HeaderValue) -> Result<Response, ApiError> {
    Ok(respond(StatusCode::NOT_MODIFIED, caching_headers(etag, cache_control)?, Body::empty()))
}

fn caching_headers(etag: Bytes, cache_control: HeaderValue) -> Result<HeaderMap, ApiError> {
    let etag = HeaderValue::from_maybe_shared(etag).map_err(|_| ApiError::internal())?;
    // With capacity for the headers that the middleware adds, since growing rehashes. Not more, since the
    // next capacity is beyond the allocator's small size classes.
    let mut headers = HeaderMap::with_capacity(6);
    headers.insert(ETAG, etag);
    headers.insert(CACHE_CONTROL, cache_control);
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    Ok(headers)
}

/// The formats that a client takes. A wildcard does not count, since clients that cannot decode WebP or AVIF
/// send it, too.
#[derive(Debug, PartialEq, Eq)]
struct AcceptedFormats {
    /// Whether `Accept` names AVIF with at least the quality of WebP and JPEG.
    avif: bool,
    /// WebP if `Accept` names it with at least the quality of JPEG.
    other: OutputFormat,
}

impl AcceptedFormats {
    fn of(headers: &HeaderMap) -> Self {
        let accepted =
            headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(','));
        let (mut avif, mut webp, mut jpeg) = (0.0_f32, 0.0_f32, 0.0_f32);
        for range in accepted {
            let mut parameters = range.split(';').map(str::trim);
            let media_type = parameters.next().unwrap_or_default();
            let quality = parameters.find_map(|parameter| parameter.strip_prefix("q="));
            let quality = quality.map_or(1.0, |q| q.parse().unwrap_or(0.0));
            for (name, found) in
                [("image/avif", &mut avif), ("image/webp", &mut webp), ("image/jpeg", &mut jpeg)]
            {
                if media_type.eq_ignore_ascii_case(name) {
                    *found = quality;
                }
            }
        }
        let other = if webp > 0.0 && webp >= jpeg { OutputFormat::WebP } else { OutputFormat::Jpeg };
        Self { avif: avif > 0.0 && avif >= webp && avif >= jpeg, other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webp_and_avif_are_sent_only_if_accept_names_them() {
        for (accept, avif, other) in [
            ("", false, OutputFormat::Jpeg),
            ("*/*", false, OutputFormat::Jpeg),
            ("image/*", false, OutputFormat::Jpeg),
            ("image/webp", false, OutputFormat::WebP),
            ("image/avif,image/webp,image/apng,*/*;q=0.8", true, OutputFormat::WebP),
            ("IMAGE/WEBP ; q=0.3", false, OutputFormat::WebP),
            ("image/webp;q=0", false, OutputFormat::Jpeg),
            ("image/jpeg, image/webp;q=0.5", false, OutputFormat::Jpeg),
            ("image/jpeg;q=0.5, image/webp", false, OutputFormat::WebP),
            ("image/webp;q=x", false, OutputFormat::Jpeg),
            ("Image/AVIF", true, OutputFormat::Jpeg),
            ("image/avif;q=0, image/webp", false, OutputFormat::WebP),
            ("image/avif;q=0.5, image/webp;q=0.9", false, OutputFormat::WebP),
            ("image/avif;q=0.5, image/webp;q=0.5", true, OutputFormat::WebP),
            ("image/avif;q=0.5, image/jpeg", false, OutputFormat::Jpeg),
            ("image/avif;q=x", false, OutputFormat::Jpeg),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(AcceptedFormats::of(&headers), AcceptedFormats { avif, other }, "{accept}");
        }
    }
}
