//! Whose bytes are whose.

use std::ops::Range;

/// Places in a file. Settled, they are in order and none touches another.
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

    /// Makes zeros of what is dropped in an area and not needed as well; if asked to, also of what nobody
    /// claims. Tells whether there was such.
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

/// Tells whether there was anything.
pub(super) fn zero(file: &mut [u8], span: Range<usize>) -> bool {
    let bytes = file.get_mut(span).unwrap_or_default();
    let found = super::says_something(bytes);
    bytes.fill(0);
    found
}
