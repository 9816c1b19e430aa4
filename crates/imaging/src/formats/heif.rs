//! HEIF: the primary image of an AVIF or HEIC file, with its alpha auxiliary image.

#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
pub(super) mod image_item;
pub(super) mod strip;
mod transform;
pub(super) mod ycbcr;

use std::borrow::Cow;

use self::image_item::ImageItem;
use self::transform::{CleanAperture, orientation};
use self::ycbcr::Nclx;
use crate::decoded_image::ColourSpace;
use crate::error::Error;
use crate::isobmff::{self, Container, ItemLocation, Meta, Reader};
use crate::orient::Orientation;

pub(super) struct Heif<'file> {
    file: &'file [u8],
    pub(super) colour: ImageItem<'file>,
    pub(super) alpha: Option<ImageItem<'file>>,
    /// Whether the colours are premultiplied by alpha.
    pub(super) premultiplied: bool,
    pub(super) aperture: CleanAperture,
    pub(super) orientation: Orientation,
    pub(super) icc: Option<&'file [u8]>,
    pub(super) nclx: Option<Nclx>,
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
        Ok(heif) if heif.colour.kind == *b"av01" => Coding::Av1,
        // The HEIC decoder then reports the error of an unreadable file.
        Ok(_) | Err(_) => Coding::Hevc,
    })
}

impl<'file> Heif<'file> {
    pub(super) fn read(file: &'file [u8]) -> Result<Self, Error> {
        let meta = Container::read(file)?.meta;
        // An image sequence without a still image, or an AVIF with a `mini` box.
        let meta = meta.ok_or(Error::Unsupported("a HEIF image sequence"))?;
        let primary = meta.primary.ok_or_else(|| Error::damaged("a HEIF file without a primary item"))?;
        let colour = ImageItem::read(file, &meta, primary)?;

        let alpha_id = find_alpha_item(&meta, primary);
        let alpha = alpha_id.map(|id| ImageItem::read(file, &meta, id)).transpose()?;
        if let Some(alpha) = &alpha
            && (alpha.width, alpha.height, alpha.kind) != (colour.width, colour.height, colour.kind)
        {
            return Err(Error::Unsupported("a HEIF image with alpha of another size"));
        }
        let premultiplied = alpha_id.is_some_and(|id| meta.has_reference(b"prem", primary, id));

        // A grid may leave the colour properties to its tiles.
        let tile = meta.derivation_inputs(primary).first();
        let colour_properties =
            || meta.properties(primary).chain(tile.into_iter().flat_map(|tile| meta.properties(*tile)));
        let colr = |kinds: &[&[u8; 4]]| {
            let bodies = colour_properties().filter(|(kind, _)| *kind == b"colr");
            bodies
                .filter_map(|(_, body)| body.split_first_chunk::<4>())
                .find(|(kind, _)| kinds.contains(kind))
        };
        let heif = Self {
            file,
            aperture: CleanAperture::read(&meta, primary, &colour)?,
            orientation: orientation(&meta, primary),
            icc: colr(&[b"prof", b"rICC"]).map(|(_, icc)| icc),
            nclx: colr(&[b"nclx"]).and_then(|(_, body)| parse_nclx(body)),
            colour,
            alpha,
            premultiplied,
        };
        // Limits the work: tiles may share extents, so a small file could declare a thousand large decodes.
        match heif.tile_lengths().fold(0, u64::saturating_add) <= 4 * file.len() as u64 {
            true => Ok(heif),
            false => Err(Error::damaged("HEIF tiles share their data")),
        }
    }

    /// An ICC profile takes precedence over `nclx`.
    pub(super) fn colour_space(&self, nclx: Nclx) -> ColourSpace {
        match self.icc {
            Some(icc) => ColourSpace::Icc(icc.to_vec()),
            None => match (u8::try_from(nclx.primaries), u8::try_from(nclx.transfer)) {
                (Ok(primaries), Ok(transfer)) => ColourSpace::Cicp { primaries, transfer },
                _ => ColourSpace::Srgb,
            },
        }
    }

    /// The data of each tile and its position on the canvas, row by row.
    pub(super) fn tiles<'a>(
        &'a self,
        item: &'a ImageItem<'file>,
    ) -> impl Iterator<Item = Result<(Cow<'file, [u8]>, i64, i64), Error>> + 'a {
        let position =
            |index: u32, side: u32, start: u32| i64::from(index) * i64::from(side) - i64::from(start);
        (0..).zip(&item.tiles).map(move |(index, tile)| {
            let x = position(index % item.columns, item.tile_width, self.aperture.left);
            let y = position(index / item.columns, item.tile_height, self.aperture.top);
            let data = tile
                .data(self.file)
                .ok_or_else(|| Error::damaged("the data of a HEIF item is out of range"))?;
            Ok((data, x, y))
        })
    }

    /// The memory for this many copies of the longest tile, plus the ICC profile.
    pub(super) fn tile_copies_memory(&self, copies: u64) -> u64 {
        copies * self.tile_lengths().max().unwrap_or(0) + self.icc.map_or(0, |icc| icc.len() as u64)
    }

    /// The data length of each tile of the colour and the alpha image.
    fn tile_lengths(&self) -> impl Iterator<Item = u64> {
        let images = [Some(&self.colour), self.alpha.as_ref()].into_iter().flatten();
        images.flat_map(|item| &item.tiles).map(ItemLocation::length)
    }
}

fn find_alpha_item(meta: &Meta, id: u32) -> Option<u32> {
    meta.items.keys().copied().find(|item| {
        let urn = meta.property(*item, b"auxC").and_then(|body| body.get(4..)).unwrap_or_default();
        let urn = urn.split(|byte| *byte == 0).next().unwrap_or_default();
        let alpha_urns: [&[u8]; 2] =
            [b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha", b"urn:mpeg:hevc:2015:auxid:1"];
        alpha_urns.contains(&urn) && meta.has_reference(b"auxl", *item, id)
    })
}

fn parse_nclx(body: &[u8]) -> Option<Nclx> {
    let mut body = Reader(body);
    let (primaries, transfer, matrix) = (body.u16()?, body.u16()?, body.u16()?);
    Some(Nclx { primaries, transfer, matrix, full_range: body.u8()? & 0x80 != 0 })
}
