//! HEIF: the primary image of an AVIF or HEIC file, with its alpha auxiliary image.

pub(super) mod decode;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
pub(super) mod image_item;
mod overlay;
pub(super) mod strip;
mod transform;
pub(super) mod ycbcr;

use std::borrow::Cow;

use self::image_item::{ImageItem, find_alpha_item};
use self::overlay::Overlay;
use self::transform::Transform;
use self::ycbcr::Nclx;
use crate::error::Error;
use crate::isobmff::{self, Container, ItemLocation, Meta, Reader};

/// Items from a derived image (`iden`) to the one with its pixels.
const MAX_DERIVATIONS: usize = 4;

pub(super) struct Heif<'file> {
    file: &'file [u8],
    /// The inputs of an overlay, from bottom to top; otherwise the image itself.
    layers: Vec<Layer<'file>>,
    overlay: Option<Overlay>,
    /// The crop and the orientation of the whole image.
    transform: Transform,
    icc: Option<&'file [u8]>,
    /// The brightest pixel in cd/m², from the `clli` property.
    max_light_level: Option<u16>,
}

/// An image with pixels: coded or a grid.
struct Layer<'file> {
    colour: ImageItem<'file>,
    alpha: Option<ImageItem<'file>>,
    /// Whether the colours are premultiplied by alpha.
    premultiplied: bool,
    transform: Transform,
    nclx: Option<Nclx>,
}

/// The video codec of the coded images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Av1,
    Hevc,
}

/// The codec by the brands of the `ftyp` box, or by the primary item if the brands are generic.
pub(super) fn coding(file: &[u8]) -> Option<Coding> {
    let brands = isobmff::brands(file)?;
    let mut generic = false;
    // The second word is the minor version.
    for brand in brands.iter().take(1).chain(brands.iter().skip(2)).take(64) {
        match brand {
            b"avif" | b"avis" => return Some(Coding::Av1),
            b"heic" | b"heix" | b"heim" | b"heis" | b"hevc" | b"hevx" | b"hevm" | b"hevs" => {
                return Some(Coding::Hevc);
            }
            b"mif1" | b"mif2" | b"msf1" => generic = true,
            _ => {}
        }
    }
    generic.then(|| match Heif::read(file) {
        Ok(heif) if heif.layers.iter().all(|layer| layer.colour.kind == *b"av01") => Coding::Av1,
        // The HEIC decoder then reports the error of an unreadable file.
        Ok(_) | Err(_) => Coding::Hevc,
    })
}

impl<'file> Heif<'file> {
    fn read(file: &'file [u8]) -> Result<Self, Error> {
        let meta = Container::read(file)?.meta;
        // An image sequence without a still image, or an AVIF with a `mini` box.
        let meta = meta.ok_or(Error::Unsupported("a HEIF image sequence"))?;
        let primary = meta.primary.ok_or_else(|| Error::damaged("a HEIF file without a primary item"))?;
        let chain = derivation_chain(&meta, primary)?;
        let base = chain.last().copied().unwrap_or(primary);
        let overlay = Overlay::read(file, &meta, base)?;
        let (layers, sources, size) = match &overlay {
            Some(overlay) => {
                let inputs = meta.derivation_inputs(base);
                let layers = inputs.iter().map(|id| Layer::read(file, &meta, &derivation_chain(&meta, *id)?));
                // The colours are those of the lowest layer, unless the overlay has its own.
                let sources = [&chain[..], inputs.get(..1).unwrap_or_default()].concat();
                (layers.collect::<Result<_, Error>>()?, sources, (overlay.width, overlay.height))
            }
            None => {
                let layer = Layer::read(file, &meta, &chain)?;
                let size = (layer.colour.width, layer.colour.height);
                (vec![layer], colour_sources(&meta, &chain), size)
            }
        };
        let heif = Self {
            file,
            layers,
            overlay,
            transform: Transform::none(size).then_all(&meta, &chain)?,
            icc: colr(&meta, &sources, &[b"prof", b"rICC"]),
            max_light_level: max_light_level(&meta, &sources),
        };
        // Limits the work: tiles may share extents, so a small file could declare a thousand large decodes.
        match heif.tile_lengths().fold(0, u64::saturating_add) <= 4 * file.len() as u64 {
            true => Ok(heif),
            false => Err(Error::damaged("HEIF tiles share their data")),
        }
    }

    /// The data of each tile and its position in the image, row by row.
    pub(super) fn tiles<'a>(
        &'a self,
        item: &'a ImageItem<'file>,
    ) -> impl Iterator<Item = Result<(Cow<'file, [u8]>, i64, i64), Error>> + 'a {
        (0..).zip(&item.tiles).map(move |(index, tile)| {
            let x = i64::from(index % item.columns) * i64::from(item.tile_width);
            let y = i64::from(index / item.columns) * i64::from(item.tile_height);
            let data = tile
                .data(self.file)
                .ok_or_else(|| Error::damaged("the data of a HEIF item is out of range"))?;
            Ok((data, x, y))
        })
    }

    /// The data length of each tile of all images.
    fn tile_lengths(&self) -> impl Iterator<Item = u64> {
        let images = self.layers.iter().flat_map(|layer| [Some(&layer.colour), layer.alpha.as_ref()]);
        images.flatten().flat_map(|item| &item.tiles).map(ItemLocation::length)
    }
}

impl<'file> Layer<'file> {
    /// The last item of the chain has the pixels.
    fn read(file: &'file [u8], meta: &Meta<'file>, chain: &[u32]) -> Result<Self, Error> {
        let base = chain.last().copied().ok_or_else(|| Error::internal("an image without an item"))?;
        let colour = ImageItem::read(file, meta, base)?;
        // A derived image may have an alpha of its own.
        let owner = chain.iter().copied().find(|id| find_alpha_item(meta, *id).is_some()).unwrap_or(base);
        let alpha = ImageItem::read_alpha(file, meta, owner)?;
        if let Some(alpha) = &alpha
            && (alpha.width, alpha.height, alpha.kind) != (colour.width, colour.height, colour.kind)
        {
            return Err(Error::Unsupported("a HEIF image with alpha of another size"));
        }
        let premultiplied =
            find_alpha_item(meta, owner).is_some_and(|alpha| meta.has_reference(b"prem", owner, alpha));
        let transform = Transform::none((colour.width, colour.height)).then_all(meta, chain)?;
        let nclx = colr(meta, &colour_sources(meta, chain), &[b"nclx"]).and_then(parse_nclx);
        Ok(Self { colour, alpha, premultiplied, transform, nclx })
    }
}

/// The items from a derived image to the one with its pixels: the input of an identity derivation, and the
/// base image of a tone-mapped one.
fn derivation_chain(meta: &Meta, id: u32) -> Result<Vec<u32>, Error> {
    let mut chain = vec![id];
    let mut last = id;
    while matches!(&meta.item(last)?.kind, b"iden" | b"tmap") {
        let input = meta.derivation_inputs(last).first();
        last = *input.ok_or_else(|| Error::damaged("a derived HEIF image without an input"))?;
        if chain.len() == MAX_DERIVATIONS {
            return Err(Error::Unsupported("a HEIF image derived this many times"));
        }
        chain.push(last);
    }
    Ok(chain)
}

/// The items whose properties describe the colours of an image. A grid may leave them to its tiles.
fn colour_sources(meta: &Meta, chain: &[u32]) -> Vec<u32> {
    let tile = chain.last().and_then(|base| meta.derivation_inputs(*base).first());
    chain.iter().chain(tile).copied().collect()
}

/// The content of the first `colr` property of one of these kinds.
fn colr<'file>(meta: &Meta<'file>, sources: &[u32], kinds: &[&[u8; 4]]) -> Option<&'file [u8]> {
    let properties = sources.iter().flat_map(|id| meta.properties(*id));
    let bodies = properties.filter(|(kind, _)| *kind == b"colr");
    let mut parts = bodies.filter_map(|(_, body)| body.split_first_chunk::<4>());
    parts.find(|(kind, _)| kinds.contains(kind)).map(|(_, content)| content)
}

fn max_light_level(meta: &Meta, sources: &[u32]) -> Option<u16> {
    let clli = sources.iter().find_map(|id| meta.property(*id, b"clli"))?;
    Reader(clli).u16().filter(|level| *level > 0)
}

fn parse_nclx(body: &[u8]) -> Option<Nclx> {
    let mut body = Reader(body);
    let (primaries, transfer, matrix) = (body.u16()?, body.u16()?, body.u16()?);
    Some(Nclx { primaries, transfer, matrix, full_range: body.u8()? & 0x80 != 0 })
}
