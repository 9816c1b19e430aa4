//! The stylesheet with the accent colour of the instance. Its own file, because the content security policy
//! forbids styles inside of pages.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::Uri;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

use crate::http::error::ApiError;
use crate::http::state::Http;
use crate::links;

/// The query of its URL has the colour, so that it changes with it.
pub(crate) async fn accent(State(http): State<Http>, uri: Uri) -> Result<Response, ApiError> {
    let instance = http.app.instance().await?;
    let missing = || ApiError::not_found("this instance has no accent colour");
    let colour = instance.accent.as_deref().ok_or_else(missing)?;
    let style = stylesheet(colour).ok_or_else(missing)?;
    let is_current = uri.query().is_some_and(|query| query == links::accent_query(colour));
    let headers =
        [(CONTENT_TYPE, "text/css; charset=utf-8"), (CACHE_CONTROL, links::cache_control(is_current))];
    Ok((headers, style).into_response())
}

/// `None` if it is not a colour such as `#b8442f`.
fn stylesheet(colour: &str) -> Option<String> {
    let text = text_on(colour)?;
    // Hovering moves away from the colour of the text, so that the contrast grows.
    let away = if text == WHITE { BLACK } else { WHITE };
    Some(format!(
        ":root {{ --accent: {colour}; --on-accent: {text}; --accent-hover: color-mix(in srgb, {colour} 86%, {away}); }}\n"
    ))
}

const WHITE: &str = "#ffffff";
const BLACK: &str = "#000000";

/// Black or white, whichever has the higher contrast: at least 4.58, where WCAG asks for 4.5.
fn text_on(colour: &str) -> Option<&'static str> {
    let (on_white, on_black) = (1.05 / (luminance(colour)? + 0.05), (luminance(colour)? + 0.05) / 0.05);
    Some(if on_white >= on_black { WHITE } else { BLACK })
}

/// The relative luminance by WCAG 2.
fn luminance(colour: &str) -> Option<f64> {
    let digits = colour.strip_prefix('#').filter(|digits| digits.len() == 6)?;
    let channel = |at: usize| {
        let value = f64::from(u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()?) / 255.0;
        Some(if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) })
    };
    Some(0.2126 * channel(0)? + 0.7152 * channel(2)? + 0.0722 * channel(4)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_on_the_accent_colour_has_enough_contrast() {
        for (colour, text) in [
            ("#000000", WHITE),
            ("#ffffff", BLACK),
            ("#b8442f", WHITE),
            ("#ffd400", BLACK),
            ("#0057b7", WHITE),
            ("#767676", BLACK),
        ] {
            assert_eq!(text_on(colour), Some(text), "{colour}");
        }
        for grey in 0..=255 {
            let luminance = luminance(&format!("#{grey:02x}{grey:02x}{grey:02x}")).unwrap() + 0.05;
            assert!((1.05 / luminance).max(luminance / 0.05) >= 4.5, "{grey}");
        }
        assert!(stylesheet("red").is_none() && stylesheet("#12345é").is_none());
    }
}
