//! The plot: requests per second of every candidate, on a logarithmic scale.

use std::fmt::Write as _;

use super::compare::RATE;
use crate::report::{Section, thousands};

const WIDTH: f64 = 1010.0;
/// Names stand left of the targets.
const LEFT: f64 = 350.0;
const RIGHT: f64 = 110.0;
const LINE: f64 = 22.0;

/// Bars from one request a second to a million, each with the spread over the rounds.
pub(super) fn svg<'a>(sections: impl IntoIterator<Item = &'a Section>) -> String {
    let groups = sections.into_iter().filter(|section| !section.loads.is_empty());
    let (mut body, mut y) = (String::new(), 60.0);
    for section in groups {
        y += LINE;
        add(
            &mut body,
            format_args!(r#"<text x="20" y="{y}" class="head">{}</text>"#, escaped(&section.title)),
        );
        y += 8.0;
        // A section without a row named Pinhole consists of its own rows only (mixed load, growth).
        let is_pinhole = |name: &str| name.starts_with("Pinhole");
        let only_pinhole = !section.loads.iter().any(|entry| is_pinhole(&entry.name));
        for entry in &section.loads {
            let rate = entry.of(RATE);
            let (from, to) = (x(rate.min), x(rate.max));
            let class = if only_pinhole || is_pinhole(&entry.name) { "pinhole" } else { "other" };
            let middle = x(rate.median);
            let (text, line) = (y + 15.0, y + 10.0);
            add(
                &mut body,
                format_args!(
                    r#"<text x="{}" y="{text}" class="name">{}</text>"#,
                    LEFT - 10.0,
                    escaped(&entry.name)
                ),
            );
            let length = middle - LEFT;
            add(
                &mut body,
                format_args!(
                    r#"<rect x="{LEFT}" y="{}" width="{length:.1}" height="14" class="{class}"/>"#,
                    y + 3.0
                ),
            );
            add(&mut body, format_args!(r#"<path d="M{from:.1} {line}H{to:.1}"/>"#));
            add(
                &mut body,
                format_args!(
                    r#"<text x="{:.1}" y="{text}" class="note">{}</text>"#,
                    to.max(middle) + 6.0,
                    thousands(rate.median as u64)
                ),
            );
            y += LINE;
        }
    }
    let height = y + 30.0;
    let mut scale = String::new();
    for power in 0..=6 {
        let at = x(10f64.powi(power));
        add(&mut scale, format_args!(r#"<path d="M{at:.1} 50V{:.1}" class="grid"/>"#, height - 20.0));
        add(
            &mut scale,
            format_args!(
                r#"<text x="{at:.1}" y="44" class="note" text-anchor="middle">{}</text>"#,
                thousands(10u64.pow(power as u32))
            ),
        );
    }
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="Requests per second of every candidate in every section">
<style>
.pinhole {{ fill: #3d6b4c; }} .other {{ fill: #a9b8cc; }} .note {{ fill: #6b6558; font-size: 12px; }}
.head {{ font-weight: 600; }} .name {{ text-anchor: end; }} text {{ fill: #22201b; }}
path {{ stroke: #22201b; stroke-width: 1.5; }} .grid {{ stroke: #e3dfd5; stroke-width: 1; }}
</style>
<rect width="{WIDTH}" height="{height}" fill="#fff"/>
<text x="20" y="24" class="head" font-size="16">Requests per second, logarithmic; the line is the spread over the rounds</text>
{scale}{body}</svg>
"##
    )
}

fn x(rate: f64) -> f64 {
    LEFT + (WIDTH - LEFT - RIGHT) * rate.max(1.0).log10().min(6.0) / 6.0
}

fn add(to: &mut String, line: std::fmt::Arguments) {
    // Writing to a string cannot fail.
    writeln!(to, "{line}").expect("a string takes everything");
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;")
}
