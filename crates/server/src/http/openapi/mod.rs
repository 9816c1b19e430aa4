//! The OpenAPI document: the entries of the route table, with the description, tags and security schemes of
//! the API.

mod entry;

use http::Method;
use utoipa::openapi::path::HttpMethod;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::server::ServerBuilder;
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{Components, ContactBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder};
use utoipa::{PartialSchema, ToSchema};

use crate::http::dto;
pub(crate) use entry::{
    Argument, Arguments, Entry, byte_count, integer, parameter, string, structured_boolean,
};

const DESCRIPTION: &str = "A photo-sharing service: users post photos with an optional message, like them, and \
    read a feed.\n\n\
    Parameters are sent as forms, either `application/x-www-form-urlencoded` or `multipart/form-data`; every \
    operation accepts both and documents the more suitable one. Join or log in to start a session; send it as the \
    session cookie, or as `Authorization: Bearer` with the token from `X-Auth-Token`. Every error response has an \
    `error` object and a stable code in `X-Error-Code`; every response has an `X-Request-Id`.";

/// The OpenAPI document of these operations, each with its method and path. `tags` are the names and
/// descriptions of their groups.
pub(crate) fn document<'a>(
    operations: impl IntoIterator<Item = (Method, &'a str, Entry)>,
    tags: &[(&str, &str)],
) -> OpenApi {
    let licence =
        LicenseBuilder::new().name("MIT OR Apache-2.0").identifier(Some("MIT OR Apache-2.0")).build();
    let contact =
        ContactBuilder::new().name(Some("The operator of the instance, on its page `/about`")).build();
    let info = InfoBuilder::new()
        .title("Pinhole")
        .version("1")
        .description(Some(DESCRIPTION))
        .contact(Some(contact))
        .license(Some(licence))
        .build();
    let server = ServerBuilder::new().url("/").description(Some("The server that serves this document"));
    let tag = |(name, about): &(&str, &str)| TagBuilder::new().name(*name).description(Some(*about)).build();
    let mut document = OpenApiBuilder::new()
        .info(info)
        .servers(Some([server.build()]))
        .tags(Some(tags.iter().map(tag)))
        .build();
    let mut components = components();
    for (method, path, entry) in operations {
        let (operation, schemas) = entry.finish();
        document.paths.add_path_operation(path, vec![http_method(&method)], operation);
        components.schemas.extend(schemas);
    }
    document.components = Some(components);
    document
}

fn components() -> Components {
    let mut components = Components::default();
    components.schemas.insert(dto::Error::name().into_owned(), dto::Error::schema());
    let mut referenced = Vec::new();
    dto::Error::schemas(&mut referenced);
    components.schemas.extend(referenced);
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("The token that join and login return in `X-Auth-Token`"));
    components.add_security_scheme("bearer", SecurityScheme::Http(bearer.build()));
    let about = "The cookie that join and login set; over https it is named `__Host-pinhole_session`";
    let cookie = ApiKey::Cookie(ApiKeyValue::with_description("pinhole_session", about));
    components.add_security_scheme("cookie", SecurityScheme::ApiKey(cookie));
    components
}

fn http_method(method: &Method) -> HttpMethod {
    match *method {
        Method::POST => HttpMethod::Post,
        Method::PUT => HttpMethod::Put,
        Method::PATCH => HttpMethod::Patch,
        Method::DELETE => HttpMethod::Delete,
        Method::OPTIONS => HttpMethod::Options,
        _ => HttpMethod::Get,
    }
}
