//! A HEIF image item: a coded image, or a grid of equal tiles.

use crate::error::Error;
use crate::isobmff::{ItemLocation, Meta, Reader, full_box};

const MAX_TILES: usize = 1_000;
/// Bytes of a decoder configuration. Encoders write a few hundred, and it is compared for every tile.
const MAX_CONFIG_BYTES: usize = 16 << 10;
/// How far the last tile of a row or column may extend beyond the grid: tiles are padded to whole blocks.
const MAX_PADDING: u32 = 1_024;

/// Operating points of an AV1 sequence.
const MAX_OPERATING_POINTS: u8 = 32;

pub(crate) struct ImageItem<'file> {
    /// The item type of the tiles: `av01` or `hvc1`.
    pub(crate) kind: [u8; 4],
    /// The decoder configuration: the content of `av1C` or `hvcC`.
    pub(crate) config: &'file [u8],
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) tile_width: u32,
    pub(crate) tile_height: u32,
    pub(crate) columns: u32,
    pub(crate) tiles: Vec<ItemLocation>,
    pub(crate) layers: LayerSelection,
}

/// The layer of a layered AV1 image that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LayerSelection {
    /// The index of the operating point, from the `a1op` property.
    pub(crate) operating_point: u8,
    /// The spatial layer, from the `lsel` property; the highest one if there is none.
    pub(crate) layer: Option<u8>,
}

impl LayerSelection {
    fn read(meta: &Meta, id: u32) -> Result<Self, Error> {
        let operating_point = meta.property(id, b"a1op").and_then(|body| body.first().copied());
        // 0xFFFF leaves the choice to the decoder.
        let layer = meta.property(id, b"lsel").and_then(|body| Reader(body).u16());
        let layer = layer.filter(|layer| *layer != 0xFFFF).map(u8::try_from).transpose();
        match (operating_point.unwrap_or(0), layer) {
            (operating_point @ ..MAX_OPERATING_POINTS, Ok(layer)) => Ok(Self { operating_point, layer }),
            _ => Err(Error::damaged("a HEIF layer that AV1 does not have")),
        }
    }
}

impl<'file> ImageItem<'file> {
    pub(crate) fn read(file: &'file [u8], meta: &Meta<'file>, id: u32) -> Result<Self, Error> {
        match &meta.item(id)?.kind {
            b"av01" | b"hvc1" => Self::from_tiles(meta, size(meta, id)?, (1, 1), &[id]),
            b"grid" => Self::from_grid(meta, &Grid::read(file, meta, id)?, meta.derivation_inputs(id)),
            _ => Err(Error::Unsupported("this kind of HEIF image")),
        }
    }

    /// The alpha of an image: of the item itself, or of every tile of a grid.
    pub(crate) fn read_alpha(file: &'file [u8], meta: &Meta<'file>, id: u32) -> Result<Option<Self>, Error> {
        if let Some(alpha) = find_alpha_item(meta, id) {
            return Self::read(file, meta, alpha).map(Some);
        }
        if meta.item(id)?.kind != *b"grid" {
            return Ok(None);
        }
        // Not for each tile if the first has none.
        let tiles = meta.derivation_inputs(id).iter().take(MAX_TILES);
        let alpha: Option<Vec<u32>> = tiles.map(|tile| find_alpha_item(meta, *tile)).collect();
        alpha.map(|tiles| Self::from_grid(meta, &Grid::read(file, meta, id)?, &tiles)).transpose()
    }

    fn from_grid(meta: &Meta<'file>, grid: &Grid, tiles: &[u32]) -> Result<Self, Error> {
        Self::from_tiles(meta, grid.size, (grid.columns, grid.rows), tiles)
    }

    fn from_tiles(
        meta: &Meta<'file>,
        (width, height): (u32, u32),
        (columns, rows): (u32, u32),
        ids: &[u32],
    ) -> Result<Self, Error> {
        let count = columns as usize * rows as usize;
        if ids.len() != count || count > MAX_TILES {
            return Err(Error::damaged("a HEIF grid with a wrong number of tiles"));
        }
        let first = *ids.first().ok_or_else(|| Error::damaged("a HEIF grid without tiles"))?;
        let (tile_width, tile_height) = size(meta, first)?;
        let kind = meta.item(first)?.kind;
        let config_kind = match &kind {
            b"av01" => b"av1C",
            b"hvc1" => b"hvcC",
            _ => return Err(Error::Unsupported("this kind of HEIF tile")),
        };
        let config = meta.property(first, config_kind).filter(|config| config.len() <= MAX_CONFIG_BYTES);
        let config = config.ok_or_else(|| Error::damaged("a HEIF tile without a decoder configuration"))?;

        // The limits are checked on the size of the grid, so its tiles must cover that size, except for
        // padding.
        let covers = |size: u32, tile: u32, count: u32| {
            let (size, tile, count) = (u64::from(size), u64::from(tile), u64::from(count));
            tile * (count - 1) < size && size <= tile * count && tile <= size + u64::from(MAX_PADDING)
        };
        if !covers(width, tile_width, columns) || !covers(height, tile_height, rows) {
            return Err(Error::damaged("a HEIF grid that its tiles do not cover"));
        }
        let layers = LayerSelection::read(meta, first)?;
        let mut tiles = Vec::with_capacity(count);
        for id in ids {
            let is_equal = meta.item(*id)?.kind == kind
                && size(meta, *id)? == (tile_width, tile_height)
                && meta.property(*id, config_kind) == Some(config)
                && LayerSelection::read(meta, *id)? == layers;
            if !is_equal {
                return Err(Error::Unsupported("a HEIF grid of different tiles"));
            }
            let location = meta.locations.get(id).filter(|location| location.is_in_file());
            tiles.push(location.ok_or_else(|| Error::damaged("a HEIF item without data"))?.clone());
        }
        Ok(Self { kind, config, width, height, tile_width, tile_height, columns, tiles, layers })
    }

    pub(crate) fn is_single(&self) -> bool {
        self.tiles.len() == 1
    }
}

/// Width and height from the item's `ispe` property.
fn size(meta: &Meta, id: u32) -> Result<(u32, u32), Error> {
    let read = |ispe| {
        let (_, _, mut ispe) = full_box(ispe)?;
        Some((ispe.u32()?, ispe.u32()?))
    };
    let size = meta.property(id, b"ispe").and_then(read);
    let size = size.filter(|(width, height)| *width > 0 && *height > 0);
    size.ok_or_else(|| Error::damaged("a HEIF item without a size"))
}

/// The content of a grid item.
struct Grid {
    columns: u32,
    rows: u32,
    size: (u32, u32),
}

impl Grid {
    fn read(file: &[u8], meta: &Meta, id: u32) -> Result<Self, Error> {
        let data = meta.locations.get(&id).and_then(|location| location.data(file));
        data.and_then(|data| Self::parse(&data)).ok_or_else(|| Error::damaged("a malformed HEIF grid"))
    }

    fn parse(body: &[u8]) -> Option<Self> {
        let mut body = Reader(body);
        let (_version, flags) = (body.u8()?, body.u8()?);
        let (rows, columns) = (u32::from(body.u8()?) + 1, u32::from(body.u8()?) + 1);
        let wide = flags & 1 == 1;
        let size = (body.u16_or_u32(wide)?, body.u16_or_u32(wide)?);
        (size.0 > 0 && size.1 > 0).then_some(Self { columns, rows, size })
    }
}

/// The auxiliary alpha image of an item.
pub(crate) fn find_alpha_item(meta: &Meta, id: u32) -> Option<u32> {
    let auxiliary = meta.references.iter().filter(|reference| reference.kind == *b"auxl");
    auxiliary.filter(|reference| reference.to.contains(&id)).map(|reference| reference.from).find(|item| {
        let urn = meta.property(*item, b"auxC").and_then(|body| body.get(4..)).unwrap_or_default();
        let urn = urn.split(|byte| *byte == 0).next().unwrap_or_default();
        let alpha_urns: [&[u8]; 2] =
            [b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha", b"urn:mpeg:hevc:2015:auxid:1"];
        alpha_urns.contains(&urn) && meta.items.contains_key(item)
    })
}
