//! The contract, for machines at `/openapi.json` and for people at `/docs`.

use axum::Router;
use axum::routing::get;
use bytes::Bytes;
use http::header::CONTENT_SECURITY_POLICY;
use http::{HeaderValue, StatusCode};
use tower::ServiceBuilder;
use tower_http::set_header::SetResponseHeaderLayer;
use utoipa::openapi::OpenApi;
use utoipa_swagger_ui::{Config, SwaggerUi};

use super::{Http, wire};

/// Swagger UI styles its elements in place; everything else comes from this server alone.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
    connect-src 'self'; font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

pub(super) fn router(document: &OpenApi) -> Router<Http> {
    let pages: Router<Http> =
        SwaggerUi::new("/docs").config(Config::from("/openapi.json").use_base_layout()).into();
    let policy =
        SetResponseHeaderLayer::overriding(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    // Written once, not at every request.
    let written = serde_json::to_vec(document).expect("a document made of plain data can be written");
    let written = Bytes::from(written);
    let machine = get(move || std::future::ready(wire::json_bytes(StatusCode::OK, written.clone())));
    pages.layer(ServiceBuilder::new().layer(policy)).route("/openapi.json", machine)
}
