//! The lists of a HEIF file: which items there are, where their bytes lie, and what is said of them.

use image::metadata::Orientation;

use super::boxes::{Reader, boxes, child, full};
use super::{Extents, Still, Window};
use crate::Error;

/// Items, properties and references each. The largest phones write 770 tiles.
const MAX_ITEMS: usize = 2_000;
const MAX_TILES: usize = 1_000;
/// Bytes of a decoder's configuration. Writers need some hundred, and it is compared for every tile.
const MAX_CONFIG: usize = 16 << 10;
/// Pieces one item lies in. Writers use one.
const MAX_EXTENTS: usize = 64;
/// How far the last tile of a row or column may stand over: tiles are padded to whole blocks.
const MAX_PADDING: u32 = 1_024;

pub(super) struct Item<'file> {
    pub(super) id: u32,
    kind: [u8; 4],
    extents: Option<Extents<'file>>,
    /// Numbers of properties, from one on.
    properties: Vec<u16>,
}

struct Reference {
    kind: [u8; 4],
    from: u32,
    to: Vec<u32>,
}

/// What the `meta` box holds.
pub(super) struct Index<'file> {
    pub(super) primary: u32,
    items: Vec<Item<'file>>,
    references: Vec<Reference>,
    properties: Vec<(&'file [u8; 4], &'file [u8])>,
}

impl<'file> Index<'file> {
    pub(super) fn read(meta: &'file [u8]) -> Option<Self> {
        let (version, _, mut pitm) = full(child(meta, b"pitm")?)?;
        let primary = pitm.id(version > 0)?;
        let iprp = child(meta, b"iprp")?;
        let mut index = Self {
            primary,
            items: items(child(meta, b"iinf")?)?,
            references: child(meta, b"iref").map_or(Some(Vec::new()), references)?,
            properties: boxes(child(iprp, b"ipco")?).take(MAX_ITEMS).collect(),
        };
        index.items.sort_by_key(|item| item.id);
        index.locate(child(meta, b"iloc")?, child(meta, b"idat").unwrap_or_default())?;
        for (name, body) in boxes(iprp) {
            if name == b"ipma" {
                index.associate(body)?;
            }
        }
        Some(index)
    }

    fn item_mut(&mut self, id: u32) -> Option<&mut Item<'file>> {
        let at = self.items.binary_search_by_key(&id, |item| item.id).ok()?;
        self.items.get_mut(at)
    }

    fn locate(&mut self, iloc: &'file [u8], idat: &'file [u8]) -> Option<()> {
        let (version, _, mut iloc) = full(iloc)?;
        let sizes = iloc.u16()?;
        let size = |shift: u32| usize::from(sizes >> shift & 15);
        let (offset, length, base, number) = (size(12), size(8), size(4), size(0));
        let count = if version < 2 { iloc.u16()?.into() } else { iloc.u32()? };
        for _ in 0..count.min(MAX_ITEMS as u32) {
            let id = iloc.id(version >= 2)?;
            let method = if version > 0 { iloc.u16()? & 15 } else { 0 };
            let elsewhere = iloc.u16()? != 0;
            let start = iloc.uint(base)?;
            let count = usize::from(iloc.u16()?);
            if count > MAX_EXTENTS {
                return None;
            }
            let mut pieces = Vec::with_capacity(count);
            for _ in 0..count {
                if version > 0 {
                    iloc.uint(number)?;
                }
                pieces.push((start.checked_add(iloc.uint(offset)?)?, iloc.uint(length)?));
            }
            let within = match method {
                0 if !elsewhere => None,
                1 => Some(idat),
                _ => continue,
            };
            if let Some(item) = self.item_mut(id) {
                item.extents = Some(Extents { within, pieces });
            }
        }
        Some(())
    }

    fn associate(&mut self, ipma: &[u8]) -> Option<()> {
        let (version, flags, mut ipma) = full(ipma)?;
        let count = ipma.u32()?;
        for _ in 0..count.min(MAX_ITEMS as u32) {
            let id = ipma.id(version > 0)?;
            let mut properties = Vec::new();
            for _ in 0..ipma.u8()? {
                // The highest bit says whether a reader must understand the property.
                properties.push(if flags & 1 == 1 {
                    ipma.u16()? & 0x7FFF
                } else {
                    u16::from(ipma.u8()? & 0x7F)
                });
            }
            if let Some(item) = self.item_mut(id) {
                item.properties = properties;
            }
        }
        Some(())
    }

    pub(super) fn item(&self, id: u32) -> Result<&Item<'file>, Error> {
        let at = self.items.binary_search_by_key(&id, |item| item.id);
        at.ok().and_then(|at| self.items.get(at)).ok_or_else(|| Error::damaged("a missing HEIF item"))
    }

    pub(super) fn properties<'a>(
        &'a self,
        item: &'a Item,
    ) -> impl Iterator<Item = (&'file [u8; 4], &'file [u8])> + 'a {
        let at = |number: &u16| self.properties.get(usize::from(*number).checked_sub(1)?).copied();
        item.properties.iter().filter_map(at)
    }

    fn property(&self, item: &Item, name: &[u8; 4]) -> Option<&'file [u8]> {
        self.properties(item).find(|(kind, _)| *kind == name).map(|(_, body)| body)
    }

    pub(super) fn references(&self, kind: &[u8; 4], from: u32) -> &[u32] {
        let found =
            self.references.iter().find(|reference| reference.kind == *kind && reference.from == from);
        found.map_or(&[], |reference| &reference.to)
    }

    pub(super) fn refers(&self, kind: &[u8; 4], from: u32, to: u32) -> bool {
        self.references.iter().any(|r| r.kind == *kind && r.from == from && r.to.contains(&to))
    }

    pub(super) fn alpha_of(&self, id: u32) -> Option<&Item<'file>> {
        self.items.iter().find(|item| {
            let urn = self.property(item, b"auxC").and_then(|body| body.get(4..)).unwrap_or_default();
            let urn = urn.split(|byte| *byte == 0).next().unwrap_or_default();
            let known: [&[u8]; 2] =
                [b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha", b"urn:mpeg:hevc:2015:auxid:1"];
            known.contains(&urn) && self.refers(b"auxl", item.id, id)
        })
    }

    /// Width and height the item claims for itself.
    fn size(&self, item: &Item) -> Result<(u32, u32), Error> {
        let read = |body: &'file [u8]| {
            let (_, _, mut body) = full(body)?;
            Some((body.u32()?, body.u32()?))
        };
        let size =
            self.property(item, b"ispe").and_then(read).filter(|(width, height)| *width > 0 && *height > 0);
        size.ok_or_else(|| Error::damaged("a HEIF item without a size"))
    }

    pub(super) fn still(&self, file: &'file [u8], item: &Item<'file>) -> Result<Still<'file>, Error> {
        match &item.kind {
            b"av01" | b"hvc1" => {
                let size = self.size(item)?;
                self.tiled(size, (1, 1), std::slice::from_ref(&item.id))
            }
            b"grid" => {
                let data = item.extents.as_ref().and_then(|extents| extents.data(file));
                let grid = data.and_then(|data| Grid::read(&data));
                let Grid { columns, rows, size } =
                    grid.ok_or_else(|| Error::damaged("a broken HEIF grid"))?;
                self.tiled(size, (columns, rows), self.references(b"dimg", item.id))
            }
            _ => Err(Error::Unsupported("this kind of HEIF picture")),
        }
    }

    fn tiled(
        &self,
        (width, height): (u32, u32),
        (columns, rows): (u32, u32),
        ids: &[u32],
    ) -> Result<Still<'file>, Error> {
        let count = columns as usize * rows as usize;
        if ids.len() != count || count > MAX_TILES {
            return Err(Error::damaged("a HEIF grid of other tiles than it says"));
        }
        let items = ids.iter().map(|id| self.item(*id)).collect::<Result<Vec<_>, _>>()?;
        let first = *items.first().ok_or_else(|| Error::damaged("a HEIF grid without tiles"))?;
        let (tile_width, tile_height) = self.size(first)?;
        let config = match &first.kind {
            b"av01" => self.property(first, b"av1C"),
            b"hvc1" => self.property(first, b"hvcC"),
            _ => return Err(Error::Unsupported("this kind of HEIF tile")),
        };
        let config = config.filter(|config| config.len() <= MAX_CONFIG);
        let config = config.ok_or_else(|| Error::damaged("a HEIF tile without its configuration"))?;

        // What the tiles hold together is what the limits are checked on, give or take their padding.
        let covers = |whole: u32, tile: u32, count: u32| {
            let (whole, tile, count) = (u64::from(whole), u64::from(tile), u64::from(count));
            tile * (count - 1) < whole && whole <= tile * count && tile <= whole + u64::from(MAX_PADDING)
        };
        if !covers(width, tile_width, columns) || !covers(height, tile_height, rows) {
            return Err(Error::damaged("a HEIF grid that its tiles do not cover"));
        }
        let mut tiles = Vec::with_capacity(count);
        for item in items {
            let same = item.kind == first.kind
                && self.size(item)? == (tile_width, tile_height)
                && self.property(item, if item.kind == *b"av01" { b"av1C" } else { b"hvcC" }) == Some(config);
            if !same {
                return Err(Error::Unsupported("a HEIF grid of unequal tiles"));
            }
            tiles.push(item.extents.clone().ok_or_else(|| Error::damaged("a HEIF item without bytes"))?);
        }
        Ok(Still { kind: first.kind, config, width, height, tile_width, tile_height, columns, tiles })
    }

    /// Rotation against the clock, then mirroring; an EXIF orientation is told to be ignored in HEIF.
    pub(super) fn orientation(&self, item: &Item) -> Orientation {
        let (mut turns, mut mirrored) = (0_u32, false);
        for (name, body) in self.properties(item) {
            match (name, body.first()) {
                (b"irot", Some(angle)) => {
                    // Behind a mirror, left turns are right turns.
                    let left = u32::from(angle & 3);
                    turns += if mirrored { left } else { 4 - left };
                }
                (b"imir", Some(axis)) => {
                    // Top and bottom change places: half a turn more than left and right.
                    turns += if axis & 1 == 0 { 2 } else { 0 };
                    mirrored = !mirrored;
                }
                _ => {}
            }
        }
        match (turns % 4, mirrored) {
            (0, false) => Orientation::NoTransforms,
            (1, false) => Orientation::Rotate90,
            (2, false) => Orientation::Rotate180,
            (_, false) => Orientation::Rotate270,
            (0, true) => Orientation::FlipHorizontal,
            (1, true) => Orientation::Rotate90FlipH,
            (2, true) => Orientation::FlipVertical,
            (_, true) => Orientation::Rotate270FlipH,
        }
    }

    /// The part that a clean aperture leaves, or all. Its offsets are between the centres.
    pub(super) fn window(&self, item: &Item, still: &Still) -> Result<Window, Error> {
        let Some(clap) = self.property(item, b"clap") else {
            return Ok(Window { left: 0, top: 0, width: still.width, height: still.height });
        };
        let mut clap = Reader(clap);
        let mut number = || Some((clap.u32()?, clap.u32()?));
        let numbers = number().zip(number()).zip(number()).zip(number());
        let window = numbers.and_then(|(((width, height), x), y)| {
            let (left, width) = cut(still.width, width, x)?;
            let (top, height) = cut(still.height, height, y)?;
            Some(Window { left, top, width, height })
        });
        // The limits see the window only, so it must not hide a picture of another magnitude; small ones
        // are filled up to whole blocks. And what was cut away must not come back: it may have been for a
        // reason.
        let near = |whole: u32, part: u32| u64::from(whole) <= 2 * u64::from(part) + 64;
        let fair = |w: &Window| near(still.width, w.width) && near(still.height, w.height);
        window.filter(fair).ok_or(Error::Unsupported("a HEIF picture that is cropped in this way"))
    }
}

/// Start and length of what is left of a side, in whole pixels. Numbers are fractions, and `offset` is from
/// the middle of the whole to the middle of what is left.
fn cut(whole: u32, side: (u32, u32), offset: (u32, u32)) -> Option<(u32, u32)> {
    let length = side.0.checked_div(side.1).filter(|length| (1..=whole).contains(length))?;
    // Written like the others, but signed.
    let (offset, parts) = (i128::from(offset.0.cast_signed()), i128::from(offset.1));
    let start = (i128::from(whole - length) * parts + 2 * offset).checked_div_euclid(2 * parts)?;
    u32::try_from(start).ok().filter(|start| *start <= whole - length).map(|start| (start, length))
}

fn items<'file>(iinf: &'file [u8]) -> Option<Vec<Item<'file>>> {
    let (version, _, mut entries) = full(iinf)?;
    entries.id(version > 0)?;
    let mut items = Vec::new();
    for (name, body) in boxes(entries.0).take(MAX_ITEMS) {
        let (version, _, mut infe) = full(body)?;
        // Older ones know no kinds.
        if name == b"infe" && version >= 2 {
            let id = infe.id(version > 2)?;
            infe.u16()?;
            items.push(Item { id, kind: *infe.0.first_chunk()?, extents: None, properties: Vec::new() });
        }
    }
    Some(items)
}

fn references(iref: &[u8]) -> Option<Vec<Reference>> {
    let (version, _, entries) = full(iref)?;
    let mut references = Vec::new();
    let mut left = 4 * MAX_ITEMS;
    for (kind, body) in boxes(entries.0).take(MAX_ITEMS) {
        let mut body = Reader(body);
        let from = body.id(version > 0)?;
        let count = body.u16()?;
        left = left.checked_sub(count.into())?;
        let mut to = Vec::new();
        for _ in 0..count {
            to.push(body.id(version > 0)?);
        }
        references.push(Reference { kind: *kind, from, to });
    }
    Some(references)
}

/// The body of a grid item.
struct Grid {
    columns: u32,
    rows: u32,
    size: (u32, u32),
}

impl Grid {
    fn read(body: &[u8]) -> Option<Self> {
        let mut body = Reader(body);
        let (_version, flags) = (body.u8()?, body.u8()?);
        let (rows, columns) = (u32::from(body.u8()?) + 1, u32::from(body.u8()?) + 1);
        let wide = flags & 1 == 1;
        let size = (body.id(wide)?, body.id(wide)?);
        (size.0 > 0 && size.1 > 0).then_some(Self { columns, rows, size })
    }
}
