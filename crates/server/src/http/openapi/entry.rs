//! The OpenAPI entry of one operation, built from its row in the route table and from the arguments of its
//! handler.

use std::collections::BTreeMap;

use axum::extract::{Request, State};
use http::Method;
use serde_json::json;
use utoipa::ToSchema;
use utoipa::openapi::content::Content;
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::path::{Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{Ref, RefOr, Required, Response, ResponseBuilder};

/// An argument of a handler. It adds the parameters that it reads, and the errors it returns, to the entry of
/// the operation.
pub(crate) trait Argument {
    fn describe(_: &mut Entry) {}
}

impl<S> Argument for State<S> {}
impl Argument for Request {}

/// All arguments of a handler, as axum's `Handler` trait has them: a tuple of a marker and their types.
pub(crate) trait Arguments {
    fn describe(entry: &mut Entry);
}

macro_rules! arguments {
    ($($argument:ident)*) => {
        impl<M, $($argument: Argument),*> Arguments for (M, $($argument,)*) {
            fn describe(_entry: &mut Entry) {
                $($argument::describe(_entry);)*
            }
        }
    };
}

arguments!();
arguments!(A);
arguments!(A B);
arguments!(A B C);
arguments!(A B C D);
arguments!(A B C D E);
arguments!(A B C D E F);

/// The CSRF check rejected the request.
const CROSS_SITE: &str = "The request has the session cookie and comes from a page of another origin";

/// The OpenAPI entry of an operation.
pub(crate) struct Entry {
    operation: Operation,
    /// The descriptions of error responses, by status.
    errors: BTreeMap<u16, &'static str>,
    /// The schemas that the operation references.
    schemas: Vec<(String, RefOr<Schema>)>,
}

impl Entry {
    /// The entry of a handler with the arguments `A`, with the errors that its method and its arguments
    /// imply.
    pub(crate) fn of<A: Arguments>(method: &Method) -> Self {
        let operation = OperationBuilder::new().securities(Some([])).build();
        let mut entry = Self { operation, errors: BTreeMap::new(), schemas: Vec::new() };
        entry.error(500, "Internal error; the log has its cause under the request id");
        entry.error(503, "The service is busy or cannot reach its storage; retry after `Retry-After`");
        entry.error(429, "Rate limit exceeded; retry after `Retry-After`");
        if !method.is_safe() {
            entry.error(403, CROSS_SITE);
        }
        // A delete works on a full disk.
        if !method.is_safe() && method != Method::DELETE {
            entry.error(507, "No space left to store this; nothing was changed. Retry after `Retry-After`");
        }
        A::describe(&mut entry);
        entry
    }

    pub(crate) fn describe(&mut self, id: &str, tag: &str, summary: &str, description: &str) {
        self.operation.operation_id = Some(id.to_owned());
        self.operation.tags = Some(vec![tag.to_owned()]);
        self.operation.summary = Some(summary.to_owned());
        self.operation.description = Some(description.to_owned());
    }

    /// The operation needs a session, or accepts one if it is `optional`.
    pub(crate) fn session(&mut self, optional: bool) {
        let no_scopes: [&str; 0] = [];
        let anonymous = optional.then(SecurityRequirement::default);
        let schemes = ["bearer", "cookie"].map(|scheme| SecurityRequirement::new(scheme, no_scopes));
        self.operation.security = Some(anonymous.into_iter().chain(schemes).collect());
        if !optional {
            self.error(401, "The request has no valid session");
        }
    }

    pub(crate) fn parameter(&mut self, parameter: ParameterBuilder) {
        let parameter: Parameter = parameter.build();
        self.operation.parameters.get_or_insert_default().push(parameter.into());
    }

    /// A form body. Of the two encodings that are accepted it documents one, since client generators expect a
    /// single media type.
    pub(crate) fn form(
        &mut self,
        (name, schema): (&str, ObjectBuilder),
        media_type: &str,
        required: bool,
        description: &str,
    ) {
        self.schemas.push((name.to_owned(), schema.into()));
        let content = Content::new(Some(Ref::from_schema_name(name)));
        let body = RequestBodyBuilder::new()
            .description(Some(description))
            .content(media_type, content)
            .required(Some(if required { Required::True } else { Required::False }));
        self.operation.request_body = Some(body.build().into());
        self.error(400, "A parameter is missing or invalid");
        self.error(408, "The request body did not arrive in time");
        self.error(413, "The request body is too large");
        self.error(415, "The Content-Type is neither of the two form encodings");
    }

    /// A body of bytes that is no form.
    pub(crate) fn binary_body(&mut self, media_type: &str, description: &str) {
        let bytes = string().format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary))).build();
        let body = RequestBodyBuilder::new()
            .description(Some(description))
            .content(media_type, Content::new(Some(bytes)))
            .required(Some(Required::True));
        self.operation.request_body = Some(body.build().into());
        self.error(400, "A header is missing or invalid");
        self.error(408, "The request body did not arrive in time");
        self.error(415, "The Content-Type is not the one above");
    }

    pub(crate) fn json<T: ToSchema>(&mut self, status: u16, description: &str) {
        let content = Content::new(Some(self.schema::<T>()));
        let response = ResponseBuilder::new().description(description).content("application/json", content);
        self.response(status, response);
    }

    pub(crate) fn binary(&mut self, status: u16, description: &str, media_types: &[&str]) {
        let bytes = string().format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary))).build();
        let response = media_types
            .iter()
            .fold(ResponseBuilder::new().description(description), |response, media_type| {
                response.content(*media_type, Content::new(Some(bytes.clone())))
            });
        self.response(status, response);
    }

    pub(crate) fn empty(&mut self, status: u16, description: &str) {
        self.response(status, ResponseBuilder::new().description(description));
    }

    /// A header of all responses that the entry has so far.
    pub(crate) fn header(&mut self, name: &str, description: &str, schema: ObjectBuilder) {
        let header = header(description, schema);
        for response in self.operation.responses.responses.values_mut() {
            if let RefOr::T(response) = response {
                response.headers.insert(name.to_owned(), header.clone().into());
            }
        }
    }

    /// An error response; a later description of the same status replaces an earlier one.
    pub(crate) fn error(&mut self, status: u16, description: &'static str) {
        self.errors.insert(status, description);
    }

    pub(crate) fn no_rate_limit(&mut self) {
        self.errors.remove(&429);
    }

    pub(super) fn finish(mut self) -> (Operation, Vec<(String, RefOr<Schema>)>) {
        for (status, description) in &self.errors {
            let response = error(*status, description);
            self.operation.responses.responses.insert(status.to_string(), response.into());
        }
        self.header("X-Request-Id", "Identifies this request in the log", string());
        (self.operation, self.schemas)
    }

    fn response(&mut self, status: u16, response: ResponseBuilder) {
        self.operation.responses.responses.insert(status.to_string(), response.build().into());
    }

    fn schema<T: ToSchema>(&mut self) -> Ref {
        self.schemas.push((T::name().into_owned(), T::schema()));
        T::schemas(&mut self.schemas);
        Ref::from_schema_name(T::name())
    }
}

/// A parameter; one in the path is required, all others are optional.
pub(crate) fn parameter(
    name: &str,
    parameter_in: ParameterIn,
    description: &str,
    schema: ObjectBuilder,
) -> ParameterBuilder {
    let required = if parameter_in == ParameterIn::Path { Required::True } else { Required::False };
    let parameter = ParameterBuilder::new().name(name).parameter_in(parameter_in).required(required);
    parameter.description(Some(description)).schema(Some(schema))
}

pub(crate) fn string() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

pub(crate) fn integer() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
}

/// An sf-boolean of RFC 9651.
pub(crate) fn structured_boolean() -> ObjectBuilder {
    string().pattern(Some(r"^\?[01]$")).examples(["?1"])
}

/// A number of bytes.
pub(crate) fn byte_count() -> ObjectBuilder {
    integer().minimum(Some(0))
}

fn header(description: &str, schema: ObjectBuilder) -> Header {
    HeaderBuilder::new().schema(Some(schema)).description(Some(description)).build()
}

fn error(status: u16, description: &str) -> Response {
    let mut content = Content::new(Some(Ref::from_schema_name("Error")));
    content.example = Some(json!({"error": {"message": description}}));
    let code = string().enum_values(Some(codes(status).iter().copied()));
    let mut response = ResponseBuilder::new()
        .description(description)
        .content("application/json", content)
        .header("X-Error-Code", header("A stable code of the error", code))
        .header(
            "X-Error-Reason",
            header("Why, where the code alone does not tell, such as `too_long;limit=5000`", string()),
        );
    if matches!(status, 429 | 503 | 507) {
        let seconds = integer().minimum(Some(1));
        response = response.header("Retry-After", header("Seconds to wait before a retry", seconds));
    }
    if status == 429 {
        let limit = "The exceeded limit: `r` is what remains of it, `t` the seconds until a retry";
        let policy = "Its policy: `q` is the quota, `w` the window in seconds";
        response = response
            .header("RateLimit", header(limit, string()))
            .header("RateLimit-Policy", header(policy, string()));
    }
    if status == 401 {
        response = response.header("WWW-Authenticate", header("Always `Bearer`", string()));
    }
    if status == 422 {
        let location = "The post that the earlier request has created";
        response = response.header("Location", header(location, string().examples(["/posts/42"])));
    }
    response.build()
}

/// The values of `X-Error-Code` for a status.
fn codes(status: u16) -> &'static [&'static str] {
    match status {
        400 => &[
            "invalid_parameter",
            "wrong_credentials",
            "wrong_password",
            "wrong_recovery_code",
            "malformed_body",
        ],
        401 => &["unauthorized"],
        403 => &[
            "forbidden",
            "cross_site",
            "account_suspended",
            "account_pending",
            "registration_closed",
            "invitation_required",
        ],
        404 => &["not_found"],
        408 => &["timeout"],
        409 => &["conflict", "upload_offset_mismatch"],
        413 => &["payload_too_large"],
        415 => &["unsupported_media_type"],
        422 => &["idempotency_key_reused"],
        429 => &["rate_limited", "quota_exceeded"],
        503 => &["busy", "not_ready", "unavailable"],
        507 => &["no_space", "quota_exceeded"],
        _ => &["internal"],
    }
}
