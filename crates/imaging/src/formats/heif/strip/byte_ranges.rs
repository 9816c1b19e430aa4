//! Byte ranges of retained and removed items.

use std::ops::Range;

use crate::isobmff::BmffBox;
use crate::metadata::has_data;

/// A set of byte ranges. After `normalize` they are sorted and disjoint.
#[derive(Default)]
pub(super) struct RangeSet(Vec<Range<usize>>);

impl RangeSet {
    pub(super) fn insert(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.0.push(range);
        }
    }

    fn normalize(&mut self) {
        self.0.sort_unstable_by_key(|range| range.start);
        self.0.dedup_by(|next, last| {
            let overlaps = next.start <= last.end;
            if overlaps {
                last.end = last.end.max(next.end);
            }
            overlaps
        });
    }

    /// The intersection of the set with an area.
    fn intersection(&self, area: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let Range { start, end } = *area;
        let first = self.0.partition_point(|range| range.end <= start);
        let ranges = self.0.iter().skip(first).take_while(move |range| range.start < end);
        ranges.map(move |range| range.start.max(start)..range.end.min(end))
    }

    /// The parts of an area that the set does not cover.
    fn gaps(&self, area: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let mut position = area.start;
        let end = area.end;
        self.intersection(area).chain(std::iter::once(end..end)).map(move |range| {
            let gap = position..range.start;
            position = range.end;
            gap
        })
    }

    pub(super) fn overlaps(&self, area: &Range<usize>) -> bool {
        self.intersection(area).any(|range| !range.is_empty())
    }
}

#[derive(Default)]
pub(super) struct ItemRanges {
    pub(super) retained: RangeSet,
    pub(super) removed: RangeSet,
}

impl ItemRanges {
    pub(super) fn normalize(&mut self) {
        self.retained.normalize();
        self.removed.normalize();
    }

    /// Zeroes the removed bytes of an area that no retained item shares and, if `outside_items`, the bytes of
    /// no item. Returns whether a byte of no item was non-zero.
    pub(super) fn zero_unused(&self, file: &mut [u8], area: &Range<usize>, outside_items: bool) -> bool {
        for range in self.removed.intersection(area) {
            self.retained.gaps(&range).for_each(|gap| {
                zero(file, gap);
            });
        }
        let mut had_data = false;
        if outside_items {
            self.retained.gaps(area).for_each(|gap| had_data |= zero(file, gap));
        }
        had_data
    }
}

/// Returns whether any byte was non-zero.
pub(super) fn zero(file: &mut [u8], range: Range<usize>) -> bool {
    let bytes = file.get_mut(range).unwrap_or_default();
    let had_data = has_data(bytes);
    bytes.fill(0);
    had_data
}

pub(super) fn set_box_type(file: &mut [u8], bmff_box: &BmffBox, kind: &[u8; 4]) {
    if let Some(box_type) = file.get_mut(bmff_box.start + 4..bmff_box.start + 8) {
        box_type.copy_from_slice(kind);
    }
}
