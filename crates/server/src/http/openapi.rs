//! The machine-readable contract: gathered from the handlers, completed here.
//!
//! Handlers document what they answer when all goes well. Errors follow from rules that hold for whole
//! groups of operations, so they are written down once, below.

use serde_json::json;
use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{
    Content, Header, HeaderBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, Ref, RefOr,
    Required, ResponseBuilder,
};
use utoipa::{PartialSchema, ToSchema};

use super::wire;

mod examples;

const DESCRIPTION: &str = "A photo-sharing service: people post photos with an optional message, like them, and \
    scroll a feed.\n\n\
    Parameters travel as forms, in either encoding. Sign in with `/join/username` or `/login/username`; send the \
    session back as the cookie or as `Authorization: Bearer` with the token from `X-Auth-Token`. Every error carries \
    an `error` object and a stable code in `X-Error-Code`; every answer carries an `X-Request-Id`.";

/// The whole document, as it is committed and served.
pub fn document() -> OpenApi {
    finish(super::api().into_openapi())
}

/// What stands around the operations.
pub(super) fn frame() -> OpenApi {
    let licence =
        LicenseBuilder::new().name("MIT OR Apache-2.0").identifier(Some("MIT OR Apache-2.0")).build();
    let info = InfoBuilder::new()
        .title("Pinhole")
        .version("1")
        .description(Some(DESCRIPTION))
        .license(Some(licence))
        .build();
    let tags = [
        ("accounts", "Joining, signing in and out, one's own profile"),
        ("people", "Who they are and what they posted"),
        ("posts", "Photos with a message"),
        ("likes", "Liking them"),
        ("feed", "Reading what is new"),
        ("photos", "Square images of any size"),
        ("health", "For whatever watches over the service"),
    ];
    let tags = tags.map(|(name, about)| TagBuilder::new().name(name).description(Some(about)).build());
    OpenApiBuilder::new().info(info).tags(Some(tags)).build()
}

/// Adds what the handlers leave out: errors, security schemes, and the image size as two numbers.
pub(super) fn finish(mut document: OpenApi) -> OpenApi {
    let components = document.components.get_or_insert_with(Default::default);
    components.schemas.insert("Error".into(), wire::Error::schema());
    let mut referenced = Vec::new();
    wire::Error::schemas(&mut referenced);
    components.schemas.extend(referenced);
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
    let cookie = ApiKey::Cookie(ApiKeyValue::new("pinhole_session"));
    components.add_security_scheme("cookie", SecurityScheme::ApiKey(cookie));

    if let Some(image) = document.paths.paths.remove("/photos/{photo_id}/{size}") {
        document.paths.paths.insert("/photos/{photo_id}/{width}x{height}".into(), image);
    }
    for (path, item) in &mut document.paths.paths {
        // One handler serves PUT and PATCH; an operation id stands for one method.
        if let Some(patch) = &mut item.patch {
            patch.operation_id = Some("patch_post".into());
        }
        let operations = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
        for operation in operations.into_iter().flatten() {
            complete(path, operation);
        }
    }
    document
}

fn complete(path: &str, operation: &mut Operation) {
    let id = operation.operation_id.clone().unwrap_or_default();
    if id == "image" {
        split_size(operation);
    }
    if let Some(RefOr::T(form)) = &mut operation.request_body {
        // An edit without a message is fine; everything else needs its form.
        form.required =
            Some(if id.ends_with("_post") && id != "create_post" { Required::False } else { Required::True });
        for content in form.content.values_mut() {
            if let RefOr::T(content) = content {
                content.example = examples::form(&id);
            }
        }
    }
    for (status, response) in &mut operation.responses.responses {
        let RefOr::T(response) = response else { continue };
        response.headers.insert("X-Request-Id".into(), text("Names this request in the log").into());
        if let Some(RefOr::T(content)) = response.content.get_mut("application/json") {
            content.example = examples::answer(&id);
        }
        if id == "image" && status == "304" {
            response.headers.insert("ETag".into(), text("Names the bytes the caller has").into());
        }
        if id == "logout" {
            response.headers.insert("Set-Cookie".into(), text("Makes a browser forget the session").into());
        }
    }
    for (status, description) in errors(path, &id, operation.request_body.is_some()) {
        let response = error_response(&id, status, description);
        operation.responses.responses.insert(status.to_string(), response);
    }
}

/// Every error status an operation can answer, and what it means there.
fn errors(path: &str, id: &str, has_form: bool) -> Vec<(u16, &'static str)> {
    let mut errors = vec![
        (500, "Something went wrong on the service's side"),
        (503, "The service is busy; try again after `Retry-After`"),
    ];
    if !matches!(id, "livez" | "readyz") {
        errors.push((429, "Too many requests from this address"));
    }
    let writes =
        !matches!(id, "feed" | "user" | "user_posts" | "get_post" | "image" | "me" | "livez" | "readyz");
    let private = writes && !matches!(id, "join" | "login") || id == "me";
    if private {
        errors.push((401, "Not signed in"));
    }
    if writes {
        errors.push((
            403,
            if matches!(id, "edit_post" | "patch_post" | "delete_post") {
                "The post belongs to somebody else, or the request comes from another site"
            } else {
                "The request comes from another site and carries a cookie"
            },
        ));
    }
    if path.contains("{post_id}") {
        errors.push((404, "There is no such post"));
    }
    if path.contains("{username}") {
        errors.push((404, "There is no such user"));
    }
    if has_form {
        errors.push((400, "A parameter is missing or wrong"));
        errors.push((408, "The body did not arrive in time"));
        errors.push((413, "The body is too large"));
        errors.push((415, "The body is neither of the two form encodings"));
    }
    match id {
        "join" => errors.push((409, "The username is taken")),
        "like" => errors.push((409, "Liked already")),
        "unlike" => errors.push((409, "Not liked")),
        "create_post" => errors.push((409, "The post made with this Idempotency-Key has been deleted")),
        "feed" | "user_posts" => errors.push((400, "`limit`, `offset` or `after` is wrong")),
        "image" => {
            errors.push((400, "Width and height are not two equal numbers from 1 to 2048"));
            errors.push((404, "There is no such photo"));
        }
        _ => {}
    }
    errors
}

fn error_response(id: &str, status: u16, description: &str) -> RefOr<utoipa::openapi::Response> {
    let mut content = Content::new(Some(Ref::from_schema_name("Error")));
    content.example = Some(examples::error(id, status, description));
    let code = ObjectBuilder::new()
        .schema_type(SchemaType::Type(Type::String))
        .enum_values(Some(codes(status).iter().copied()));
    let about = "A stable, machine-readable name of the error";
    let mut response = ResponseBuilder::new()
        .description(description)
        .content("application/json", content)
        .header("X-Request-Id", text("Names this request in the log"))
        .header("X-Error-Code", HeaderBuilder::new().schema(Some(code)).description(Some(about)).build());
    if matches!(status, 429 | 503) {
        response = response.header("Retry-After", text("Seconds to wait"));
    }
    if status == 429 {
        response = response
            .header(
                "RateLimit",
                text("The policy that was exceeded, what is left of it, when it is full again"),
            )
            .header("RateLimit-Policy", text("How much that policy allows in how many seconds"));
    }
    if status == 401 {
        response = response.header("WWW-Authenticate", text("Always `Bearer`"));
    }
    response.build().into()
}

/// The codes that go with a status.
fn codes(status: u16) -> &'static [&'static str] {
    match status {
        400 => &["invalid_parameter", "wrong_credentials", "malformed_body"],
        401 => &["unauthorized"],
        403 => &["forbidden", "cross_site"],
        404 => &["not_found"],
        408 => &["timeout"],
        409 => &["conflict"],
        413 => &["payload_too_large"],
        415 => &["unsupported_media_type"],
        429 => &["rate_limited"],
        503 => &["busy", "not_ready", "unavailable"],
        _ => &["internal"],
    }
}

fn text(about: &str) -> Header {
    let schema = ObjectBuilder::new().schema_type(SchemaType::Type(Type::String));
    HeaderBuilder::new().schema(Some(schema)).description(Some(about)).build()
}

/// The router sees one segment, clients see two numbers.
fn split_size(operation: &mut Operation) {
    let parameters = operation.parameters.get_or_insert_default();
    parameters.retain(|parameter| !matches!(parameter, RefOr::T(parameter) if parameter.name == "size"));
    for name in ["width", "height"] {
        let number = ObjectBuilder::new()
            .schema_type(SchemaType::Type(Type::Integer))
            .minimum(Some(1))
            .maximum(Some(2048));
        let parameter = ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Path)
            .required(Required::True)
            .description(Some("Pixels; width and height must be equal"))
            .schema(Some(number))
            .example(Some(json!(512)))
            .build();
        parameters.push(parameter.into());
    }
}
