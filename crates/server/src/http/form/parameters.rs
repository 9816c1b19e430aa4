//! Forms as structs: the type of a parameter says how it is read, what is wrong with it, and its schema in
//! the OpenAPI document.

use model::{Focus, Refusal, Role, Text, TextRule, ValidationError};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};

use super::{FormData, FormError};
use crate::http::openapi::string;

/// A form, declared with [`form!`](crate::http::form::parameters::form).
pub(crate) trait FormFields: Sized {
    /// Of its schema.
    const NAME: &'static str;
    /// The names of the text parameters.
    const TEXT: &'static [&'static str];
    /// The name of the file parameter, if the form has one. Its content is not in the struct.
    const FILE: Option<&'static str> = None;
    /// Whether a request without a body is an error.
    const IS_REQUIRED: bool;

    fn parse(data: &mut FormData) -> Result<Self, FormError>;
    fn schema() -> ObjectBuilder;
}

/// The type of a text parameter.
pub(crate) trait Parameter: Sized {
    const IS_REQUIRED: bool = false;

    /// `text` is `None` if the parameter was not sent.
    fn read(name: &str, text: Option<String>) -> Result<Self, ValidationError>;
    fn schema() -> ObjectBuilder;
}

/// What a parameter holds if it is sent.
pub(crate) trait Value: Sized {
    /// `None` counts as not sent.
    fn parse(name: &str, text: String) -> Result<Option<Self>, ValidationError>;

    fn shape() -> ObjectBuilder {
        string()
    }

    /// Of a required parameter.
    fn required_shape() -> ObjectBuilder {
        Self::shape()
    }
}

impl<V: Value> Parameter for V {
    const IS_REQUIRED: bool = true;

    fn read(name: &str, text: Option<String>) -> Result<Self, ValidationError> {
        let value = text.map(|text| V::parse(name, text)).transpose()?.flatten();
        value.ok_or_else(|| {
            ValidationError::refused(Refusal::Missing, format!("the parameter {name} is missing"))
        })
    }

    fn schema() -> ObjectBuilder {
        V::required_shape()
    }
}

impl<V: Value> Parameter for Option<V> {
    fn read(name: &str, text: Option<String>) -> Result<Self, ValidationError> {
        Ok(text.map(|text| V::parse(name, text)).transpose()?.flatten())
    }

    fn schema() -> ObjectBuilder {
        V::shape()
    }
}

/// A text to change: it stays as it is if it is not sent, and an empty one removes it.
#[expect(clippy::option_option, reason = "as the edits of the application have it")]
pub(crate) struct Edit<V>(pub(crate) Option<Option<V>>);

impl<V: Value> Parameter for Edit<V> {
    fn read(name: &str, text: Option<String>) -> Result<Self, ValidationError> {
        text.map(|text| V::parse(name, text)).transpose().map(Self)
    }

    fn schema() -> ObjectBuilder {
        V::shape()
    }
}

/// The password of an owner. Without it the operation itself decides, with an error of its own.
pub(crate) struct OwnerPassword(pub(crate) Option<String>);

impl Parameter for OwnerPassword {
    const IS_REQUIRED: bool = true;

    fn read(_: &str, text: Option<String>) -> Result<Self, ValidationError> {
        Ok(Self(text.filter(|password| !password.is_empty())))
    }

    fn schema() -> ObjectBuilder {
        Password::shape()
    }
}

impl Value for String {
    fn parse(_: &str, text: String) -> Result<Option<Self>, ValidationError> {
        Ok(Some(text))
    }
}

impl<Rule: TextRule> Value for Text<Rule> {
    fn parse(_: &str, text: String) -> Result<Option<Self>, ValidationError> {
        Self::parse(text)
    }

    fn shape() -> ObjectBuilder {
        string().max_length(Some(Self::MAX_CHARS))
    }

    /// An empty text counts as not sent.
    fn required_shape() -> ObjectBuilder {
        Self::shape().min_length(Some(1))
    }
}

/// A username as it was sent: the operation tells whether it is one.
pub(crate) struct SentUsername(pub(crate) String);

impl Value for SentUsername {
    fn parse(_: &str, text: String) -> Result<Option<Self>, ValidationError> {
        Ok(Some(Self(text)))
    }

    fn shape() -> ObjectBuilder {
        let schema = string().min_length(Some(1)).max_length(Some(64));
        schema.pattern(Some("^[A-Za-z0-9_.@+-]{1,64}$"))
    }
}

pub(crate) struct Password(pub(crate) String);

impl Value for Password {
    fn parse(_: &str, text: String) -> Result<Option<Self>, ValidationError> {
        Ok(Some(Self(text)))
    }

    fn shape() -> ObjectBuilder {
        string().format(Some(SchemaFormat::KnownFormat(KnownFormat::Password)))
    }
}

/// Of a point: two numbers from 0 to 1.
impl Value for Focus {
    fn parse(_: &str, text: String) -> Result<Option<Self>, ValidationError> {
        text.parse().map(Some)
    }

    fn shape() -> ObjectBuilder {
        string().pattern(Some(r"^(0(\.[0-9]+)?|1(\.0+)?),(0(\.[0-9]+)?|1(\.0+)?)$"))
    }
}

impl Value for Role {
    fn parse(_: &str, text: String) -> Result<Option<Self>, ValidationError> {
        text.parse().map(Some)
    }

    fn shape() -> ObjectBuilder {
        string().pattern(Some("^(member|moderator|owner)$"))
    }
}

/// Also as other languages and HTML forms write it.
impl Value for bool {
    fn parse(name: &str, text: String) -> Result<Option<Self>, ValidationError> {
        match &*text.to_ascii_lowercase() {
            "true" | "on" | "1" => Ok(Some(true)),
            "false" | "off" | "0" => Ok(Some(false)),
            _ => Err(ValidationError::new(format!("{name} is true or false"))),
        }
    }

    fn shape() -> ObjectBuilder {
        ObjectBuilder::new().schema_type(Type::Boolean)
    }
}

impl Value for u32 {
    fn parse(name: &str, text: String) -> Result<Option<Self>, ValidationError> {
        let rule = |_| ValidationError::new(format!("{name} must be a whole number"));
        text.parse().map(Some).map_err(rule)
    }

    fn shape() -> ObjectBuilder {
        ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1))
    }
}

/// Takes a parameter out of a form.
pub(crate) fn take<P: Parameter>(data: &mut FormData, name: &'static str) -> Result<P, FormError> {
    P::read(name, data.text(name)?).map_err(|rule| FormError::InvalidParameter(name, rule))
}

/// Adds a text parameter to the schema of a form.
pub(crate) fn add_parameter<P: Parameter>(
    form: ObjectBuilder,
    name: &'static str,
    about: &str,
    example: impl Into<serde_json::Value>,
) -> ObjectBuilder {
    let form = form.property(name, P::schema().description(Some(lines(about))).examples([example.into()]));
    if P::IS_REQUIRED { form.required(name) } else { form }
}

/// Adds the file parameter.
pub(crate) fn add_file(
    form: ObjectBuilder,
    name: &'static str,
    media_type: &str,
    about: &str,
) -> ObjectBuilder {
    let file = ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary)))
        .content_media_type(media_type)
        .description(Some(about));
    form.property(name, file).required(name)
}

/// Of a doc comment.
pub(crate) fn lines(docs: &str) -> String {
    docs.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

/// Declares a form: its parameters with their types and examples. Doc comments are in the OpenAPI document.
macro_rules! form {
    (@name $form:ident) => { stringify!($form) };
    (@name $form:ident $name:literal) => { $name };
    (
        $(#[doc = $about:literal])+
        $visibility:vis struct $form:ident $(as $name:literal)? {
            $(file $file:ident: $media_type:literal = $file_about:literal,)?
            $($(#[doc = $docs:literal])+ $field:ident: $type:ty = $example:expr,)*
        }
    ) => {
        $(#[doc = $about])+
        $visibility struct $form {
            $($(#[doc = $docs])+ pub(crate) $field: $type,)*
        }

        impl $crate::http::form::parameters::FormFields for $form {
            const NAME: &'static str = form!(@name $form $($name)?);
            const TEXT: &'static [&'static str] = &[$(stringify!($field)),*];
            $(const FILE: Option<&'static str> = Some(stringify!($file));)?
            const IS_REQUIRED: bool = Self::FILE.is_some()
                $(|| <$type as $crate::http::form::parameters::Parameter>::IS_REQUIRED)*;

            #[allow(unused_variables, unused_imports, reason = "a form may have a file alone")]
            fn parse(
                data: &mut $crate::http::form::FormData,
            ) -> Result<Self, $crate::http::form::FormError> {
                use $crate::http::form::parameters::take;
                Ok(Self { $($field: take(data, stringify!($field))?),* })
            }

            fn schema() -> utoipa::openapi::schema::ObjectBuilder {
                use $crate::http::form::parameters::lines;
                let form = utoipa::openapi::schema::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::Object)
                    .description(Some(lines(concat!($($about, "\n"),+))));
                $(let form = $crate::http::form::parameters::add_file(
                    form,
                    stringify!($file),
                    $media_type,
                    $file_about,
                );)?
                $(let form = $crate::http::form::parameters::add_parameter::<$type>(
                    form,
                    stringify!($field),
                    concat!($($docs, "\n"),+),
                    $example,
                );)*
                form
            }
        }
    };
}

pub(crate) use form;
