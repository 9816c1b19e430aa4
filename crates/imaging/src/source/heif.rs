//! HEIF: the boxes around AVIF and HEIC pictures, read as far as a still picture needs.
//!
//! Every number in here was written by a stranger. Nothing is allocated by a claim: lists grow with the
//! bytes that are really there and stop at limits.

mod boxes;
mod index;

use std::borrow::Cow;

use image::metadata::Orientation;

pub(super) use self::boxes::Reader;
use self::boxes::{boxes, child};
use self::index::Index;
use super::{Colours, Source};
use crate::Error;

/// The primary picture of a file.
pub(super) struct Heif<'file> {
    file: &'file [u8],
    pub(super) colour: Still<'file>,
    pub(super) alpha: Option<Still<'file>>,
    /// Whether the colours were multiplied by the opacity.
    pub(super) premultiplied: bool,
    /// The part of the picture that is meant to be seen.
    pub(super) window: Window,
    pub(super) orientation: Orientation,
    pub(super) icc: Option<&'file [u8]>,
    pub(super) nclx: Option<Nclx>,
}

/// A picture of equal tiles; most have one.
pub(super) struct Still<'file> {
    /// How the tiles are coded: `av01` or `hvc1`.
    pub(super) kind: [u8; 4],
    /// What the decoder must know before the first tile: the body of `av1C` or `hvcC`.
    pub(super) config: &'file [u8],
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) tile_width: u32,
    pub(super) tile_height: u32,
    columns: u32,
    tiles: Vec<Extents<'file>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) left: u32,
    pub(super) top: u32,
    pub(super) width: u32,
    pub(super) height: u32,
}

/// Colours by their numbers in ITU-T H.273.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Nclx {
    pub(super) primaries: u16,
    pub(super) transfer: u16,
    pub(super) matrix: u16,
    pub(super) full_range: bool,
}

/// The format by the brands in front, or by the picture where they only say that there is one.
pub(super) fn source_of(file: &[u8]) -> Option<Source> {
    let (b"ftyp", body) = boxes(file).next()? else { return None };
    let (brands, _) = body.as_chunks::<4>();
    let mut generic = false;
    // The second word is a version.
    for brand in brands.iter().take(1).chain(brands.iter().skip(2)).take(64) {
        match brand {
            b"avif" | b"avis" => return Some(Source::Avif),
            b"heic" | b"heix" | b"heim" | b"heis" | b"hevc" | b"hevx" | b"hevm" | b"hevs" => {
                return Some(Source::Heic);
            }
            b"mif1" | b"mif2" | b"msf1" => generic = true,
            _ => {}
        }
    }
    generic.then(|| match Heif::read(file) {
        Ok(heif) if heif.colour.kind == *b"av01" => Source::Avif,
        // Its reader then tells what is wrong with the others.
        Ok(_) | Err(_) => Source::Heic,
    })
}

impl<'file> Heif<'file> {
    pub(super) fn read(file: &'file [u8]) -> Result<Self, Error> {
        let meta = child(file, b"meta").and_then(|meta| meta.get(4..));
        // A film without a still picture of its own.
        let meta = meta.ok_or(Error::Unsupported("a HEIF sequence"))?;
        let index = Index::read(meta).ok_or_else(|| Error::damaged("broken HEIF boxes"))?;
        let primary = index.item(index.primary)?;
        let colour = index.still(file, primary)?;

        let alpha = index.alpha_of(primary.id).map(|alpha| index.still(file, alpha).map(|s| (alpha.id, s)));
        let (alpha_id, alpha) = alpha.transpose()?.unzip();
        if let Some(alpha) = &alpha
            && (alpha.width, alpha.height, alpha.kind) != (colour.width, colour.height, colour.kind)
        {
            return Err(Error::Unsupported("a HEIF picture with opacity of another size"));
        }
        let premultiplied = alpha_id.is_some_and(|id| index.refers(b"prem", primary.id, id));

        // A grid may leave its colours to its tiles.
        let tile = index.references(b"dimg", primary.id).first().and_then(|id| index.item(*id).ok());
        let colours = || index.properties(primary).chain(tile.into_iter().flat_map(|t| index.properties(t)));
        let colr = |kinds: &[&[u8; 4]]| {
            let bodies = colours().filter(|(name, _)| *name == b"colr");
            bodies
                .filter_map(|(_, body)| body.split_first_chunk::<4>())
                .find(|(kind, _)| kinds.contains(kind))
        };
        let heif = Self {
            file,
            window: index.window(primary, &colour)?,
            orientation: index.orientation(primary),
            icc: colr(&[b"prof", b"rICC"]).map(|(_, icc)| icc),
            nclx: colr(&[b"nclx"]).and_then(|(_, body)| Nclx::read(body)),
            colour,
            alpha,
            premultiplied,
        };
        // Else a thousand tiles of the same megabytes would be read one by one.
        match heif.lengths().fold(0, u64::saturating_add) <= 4 * file.len() as u64 {
            true => Ok(heif),
            false => Err(Error::damaged("HEIF tiles that share their bytes")),
        }
    }

    /// What the colours mean: a profile says it better than numbers do.
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
        (0..).zip(&still.tiles).map(move |(index, extents)| {
            let x = place(index % still.columns, still.tile_width, self.window.left);
            let y = place(index / still.columns, still.tile_height, self.window.top);
            let data =
                extents.data(self.file).ok_or_else(|| Error::damaged("a HEIF item outside its file"))?;
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
        stills.flat_map(|still| &still.tiles).map(|tile| tile.length(self.file))
    }
}

impl Still<'_> {
    pub(super) fn is_single(&self) -> bool {
        self.tiles.len() == 1
    }
}

impl Nclx {
    fn read(body: &[u8]) -> Option<Self> {
        let mut body = Reader(body);
        let (primaries, transfer, matrix) = (body.u16()?, body.u16()?, body.u16()?);
        Some(Self { primaries, transfer, matrix, full_range: body.u8()? & 0x80 != 0 })
    }
}

/// Where an item's bytes are.
#[derive(Clone)]
struct Extents<'file> {
    /// The `idat` box, or none for places in the file.
    within: Option<&'file [u8]>,
    /// Start and length; a length of zero reaches to the end.
    pieces: Vec<(u64, u64)>,
}

impl<'file> Extents<'file> {
    /// No less than the bytes there are.
    fn length(&self, file: &[u8]) -> u64 {
        let whole = file.len() as u64;
        let lengths = self.pieces.iter().map(|(_, length)| if *length == 0 { whole } else { *length });
        lengths.fold(0, u64::saturating_add).min(whole)
    }

    /// None if a piece is not in the file, or if they overlap to more than there is.
    fn data(&self, file: &'file [u8]) -> Option<Cow<'file, [u8]>> {
        let whole = self.within.unwrap_or(file);
        let piece = |(start, length): &(u64, u64)| {
            let rest = whole.get(usize::try_from(*start).ok()?..)?;
            if *length == 0 { Some(rest) } else { rest.get(..usize::try_from(*length).ok()?) }
        };
        match self.pieces.as_slice() {
            [one] => piece(one).map(Cow::Borrowed),
            many => {
                let pieces = many.iter().map(piece).collect::<Option<Vec<_>>>()?;
                let length: usize = pieces.iter().map(|piece| piece.len()).sum();
                (length <= whole.len()).then(|| Cow::Owned(pieces.concat()))
            }
        }
    }
}
