//! HEIF: the primary picture of an AVIF or HEIC file, from the items its container lists.

pub(super) mod still;
pub(super) mod strip;
mod transform;
pub(super) mod ycbcr;

use std::borrow::Cow;

use self::still::Still;
use self::transform::{Window, orientation};
use self::ycbcr::Nclx;
use crate::error::Error;
use crate::isobmff::{self, Container, Location, Meta, Reader};
use crate::orient::Orientation;
use crate::picture::Colours;

pub(super) struct Heif<'file> {
    file: &'file [u8],
    pub(super) colour: Still<'file>,
    pub(super) alpha: Option<Still<'file>>,
    /// Whether the colours were multiplied by the opacity.
    pub(super) premultiplied: bool,
    pub(super) window: Window,
    pub(super) orientation: Orientation,
    pub(super) icc: Option<&'file [u8]>,
    pub(super) nclx: Option<Nclx>,
}

/// How the pictures of a file are coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Av1,
    Hevc,
}

/// The coding by the brands of the `ftyp` box, or by the primary item where they only say that there is one.
pub(super) fn coding(file: &[u8]) -> Option<Coding> {
    let brands = isobmff::brands(file)?;
    let mut generic = false;
    // The second word is a version.
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
        // Its decoder then reports what is wrong with the others.
        Ok(_) | Err(_) => Coding::Hevc,
    })
}

impl<'file> Heif<'file> {
    pub(super) fn read(file: &'file [u8]) -> Result<Self, Error> {
        let meta = Container::read(file)?.meta;
        // An image sequence without a still picture of its own, or an AVIF in the short form.
        let meta = meta.ok_or(Error::Unsupported("a HEIF sequence"))?;
        let primary = meta.primary.ok_or_else(|| Error::damaged("a HEIF file without a primary item"))?;
        let colour = Still::read(file, &meta, primary)?;

        let alpha_id = alpha_of(&meta, primary);
        let alpha = alpha_id.map(|id| Still::read(file, &meta, id)).transpose()?;
        if let Some(alpha) = &alpha
            && (alpha.width, alpha.height, alpha.kind) != (colour.width, colour.height, colour.kind)
        {
            return Err(Error::Unsupported("a HEIF picture with opacity of another size"));
        }
        let premultiplied = alpha_id.is_some_and(|id| meta.refers(b"prem", primary, id));

        // A grid may leave its colours to its tiles.
        let tile = meta.inputs(primary).first();
        let colours =
            || meta.properties(primary).chain(tile.into_iter().flat_map(|tile| meta.properties(*tile)));
        let colr = |kinds: &[&[u8; 4]]| {
            let bodies = colours().filter(|(name, _)| *name == b"colr");
            bodies
                .filter_map(|(_, body)| body.split_first_chunk::<4>())
                .find(|(kind, _)| kinds.contains(kind))
        };
        let heif = Self {
            file,
            window: Window::read(&meta, primary, &colour)?,
            orientation: orientation(&meta, primary),
            icc: colr(&[b"prof", b"rICC"]).map(|(_, icc)| icc),
            nclx: colr(&[b"nclx"]).and_then(|(_, body)| nclx(body)),
            colour,
            alpha,
            premultiplied,
        };
        // Otherwise a thousand tiles of the same megabytes would be decoded one by one.
        match heif.lengths().fold(0, u64::saturating_add) <= 4 * file.len() as u64 {
            true => Ok(heif),
            false => Err(Error::damaged("HEIF tiles that share their bytes")),
        }
    }

    /// A profile is preferred to the numbers of `nclx`.
    pub(super) fn colours(&self, nclx: Nclx) -> Colours {
        match self.icc {
            Some(icc) => Colours::Icc(icc.to_vec()),
            None => match (u8::try_from(nclx.primaries), u8::try_from(nclx.transfer)) {
                (Ok(primaries), Ok(transfer)) => Colours::Cicp { primaries, transfer },
                _ => Colours::Srgb,
            },
        }
    }

    /// The bytes of every tile and where it belongs, row by row.
    pub(super) fn tiles<'a>(
        &'a self,
        still: &'a Still<'file>,
    ) -> impl Iterator<Item = Result<(Cow<'file, [u8]>, i64, i64), Error>> + 'a {
        let place = |index: u32, side: u32, start: u32| i64::from(index) * i64::from(side) - i64::from(start);
        (0..).zip(&still.tiles).map(move |(index, tile)| {
            let x = place(index % still.columns, still.tile_width, self.window.left);
            let y = place(index / still.columns, still.tile_height, self.window.top);
            let data = tile.data(self.file).ok_or_else(|| Error::damaged("a HEIF item outside its file"))?;
            Ok((data, x, y))
        })
    }

    /// The bytes of a colour profile, and of the longest tile this many times.
    pub(super) fn copies(&self, of_tile: u64) -> u64 {
        of_tile * self.lengths().max().unwrap_or(0) + self.icc.map_or(0, |icc| icc.len() as u64)
    }

    /// The bytes of every tile of colour and opacity.
    fn lengths(&self) -> impl Iterator<Item = u64> {
        let stills = [Some(&self.colour), self.alpha.as_ref()].into_iter().flatten();
        stills.flat_map(|still| &still.tiles).map(Location::length)
    }
}

fn alpha_of(meta: &Meta, id: u32) -> Option<u32> {
    meta.items.keys().copied().find(|item| {
        let urn = meta.property(*item, b"auxC").and_then(|body| body.get(4..)).unwrap_or_default();
        let urn = urn.split(|byte| *byte == 0).next().unwrap_or_default();
        let known: [&[u8]; 2] =
            [b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha", b"urn:mpeg:hevc:2015:auxid:1"];
        known.contains(&urn) && meta.refers(b"auxl", *item, id)
    })
}

fn nclx(body: &[u8]) -> Option<Nclx> {
    let mut body = Reader(body);
    let (primaries, transfer, matrix) = (body.u16()?, body.u16()?, body.u16()?);
    Some(Nclx { primaries, transfer, matrix, full_range: body.u8()? & 0x80 != 0 })
}
