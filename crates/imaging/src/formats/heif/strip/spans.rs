//! Which bytes of a file are needed and which are dropped.

use std::ops::Range;

use crate::isobmff::BmffBox;
use crate::metadata::has_data;

/// Ranges of a file. Once settled, they are in order and none touches another.
#[derive(Default)]
pub(super) struct Spans(Vec<Range<usize>>);

impl Spans {
    pub(super) fn add(&mut self, span: Range<usize>) {
        if !span.is_empty() {
            self.0.push(span);
        }
    }

    fn settle(&mut self) {
        self.0.sort_unstable_by_key(|span| span.start);
        self.0.dedup_by(|next, last| {
            let touch = next.start <= last.end;
            if touch {
                last.end = last.end.max(next.end);
            }
            touch
        });
    }

    /// The parts of an area that are in these spans.
    fn within(&self, area: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let Range { start, end } = *area;
        let first = self.0.partition_point(|span| span.end <= start);
        let spans = self.0.iter().skip(first).take_while(move |span| span.start < end);
        spans.map(move |span| span.start.max(start)..span.end.min(end))
    }

    /// The parts of an area that are in none of these spans.
    fn outside(&self, area: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let mut at = area.start;
        let end = area.end;
        self.within(area).chain(std::iter::once(end..end)).map(move |span| {
            let gap = at..span.start;
            at = span.end;
            gap
        })
    }

    pub(super) fn touch(&self, area: &Range<usize>) -> bool {
        self.within(area).any(|span| !span.is_empty())
    }
}

#[derive(Default)]
pub(super) struct Claims {
    pub(super) needed: Spans,
    pub(super) dropped: Spans,
}

impl Claims {
    pub(super) fn settle(&mut self) {
        self.needed.settle();
        self.dropped.settle();
    }

    /// Zeroes the dropped bytes of an area that are not needed as well and, if asked to, the unclaimed ones.
    /// True if an unclaimed byte was not zero.
    pub(super) fn clear(&self, file: &mut [u8], area: &Range<usize>, unclaimed: bool) -> bool {
        for span in self.dropped.within(area) {
            self.needed.outside(&span).for_each(|gap| {
                zero(file, gap);
            });
        }
        let mut found = false;
        if unclaimed {
            self.needed.outside(area).for_each(|gap| found |= zero(file, gap));
        }
        found
    }
}

/// True if a byte was not zero before.
pub(super) fn zero(file: &mut [u8], span: Range<usize>) -> bool {
    let bytes = file.get_mut(span).unwrap_or_default();
    let found = has_data(bytes);
    bytes.fill(0);
    found
}

pub(super) fn rename(file: &mut [u8], found: &BmffBox, kind: &[u8; 4]) {
    if let Some(place) = file.get_mut(found.start + 4..found.start + 8) {
        place.copy_from_slice(kind);
    }
}
