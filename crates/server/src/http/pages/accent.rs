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
    let (light, dark) = (readable(colour, PAPER, BLACK)?, readable(colour, NIGHT, WHITE)?);
    Some(format!(
        ":root {{ --brand: light-dark({light}, {dark}); --accent: {colour}; --on-accent: {text}; \
         --accent-hover: color-mix(in srgb, {colour} 86%, {away}); }}\n"
    ))
}

/// `--background` of both themes.
pub(super) const PAPER: &str = "#faf8f4";
const NIGHT: &str = "#141211";

/// The colour for texts and marks on a background: towards black or white as far as they stay readable.
fn readable(colour: &str, background: &str, towards: &str) -> Option<String> {
    let (from, to) = (channels(colour)?, channels(towards)?);
    let background = luminance(background)? + 0.05;
    let mixed = |step: u16| {
        let mix = |from: u8, to: u8| (u16::from(from) * (20 - step) + u16::from(to) * step) / 20;
        let [red, green, blue] = [0, 1, 2].map(|at| mix(from[at], to[at]));
        format!("#{red:02x}{green:02x}{blue:02x}")
    };
    (0..=20).map(mixed).find(|colour| {
        let contrast = luminance(colour).map(|luminance| (luminance + 0.05) / background);
        contrast.is_some_and(|ratio| ratio.max(1.0 / ratio) >= 4.5)
    })
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
    let [red, green, blue] = channels(colour)?.map(|value| {
        let value = f64::from(value) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    });
    Some(0.2126 * red + 0.7152 * green + 0.0722 * blue)
}

fn channels(colour: &str) -> Option<[u8; 3]> {
    let digits = colour.strip_prefix('#').filter(|digits| digits.len() == 6)?;
    let channel = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    Some([channel(0)?, channel(2)?, channel(4)?])
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
        for colour in ["#000000", "#ffffff", "#ffd400", "#0057b7", "#767676"] {
            for (background, towards) in [(PAPER, BLACK), (NIGHT, WHITE)] {
                let readable = luminance(&readable(colour, background, towards).unwrap()).unwrap() + 0.05;
                let ratio = readable / (luminance(background).unwrap() + 0.05);
                assert!(ratio.max(1.0 / ratio) >= 4.5, "{colour} on {background}");
            }
        }
        assert_eq!(readable("#0057b7", PAPER, BLACK).unwrap(), "#0057b7", "it is readable as it is");
        let tokens = include_str!("../../../../../web/style/tokens.css");
        assert!(tokens.contains(&format!("--background: light-dark({PAPER}, {NIGHT});")));
        assert!(stylesheet("red").is_none() && stylesheet("#12345é").is_none());
    }
}
