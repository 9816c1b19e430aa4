//! The `meta` box of a HEIF file: items, item references and item properties.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::boxes::{BmffBox, MAX_BOXES, Reader, check_limit, find_unique, full_box};
use super::item_location::ItemLocation;
use crate::error::Error;

/// Limit for the targets of all item references together.
const MAX_TARGETS: usize = 4 * MAX_BOXES;

pub(crate) struct Meta<'file> {
    file: &'file [u8],
    /// The `meta` box itself.
    pub(crate) meta: BmffBox,
    pub(crate) children: Vec<BmffBox>,
    pub(crate) primary: Option<u32>,
    pub(crate) items: BTreeMap<u32, Item>,
    /// By item ID, whether listed in `iinf` or not.
    pub(crate) locations: BTreeMap<u32, ItemLocation>,
    pub(crate) references: Vec<ItemReference>,
    /// Items in an entity group, such as alternatives.
    pub(crate) grouped: BTreeSet<u32>,
    /// The `idat` box, which contains the data of small items.
    pub(crate) idat: Option<Range<usize>>,
    properties: Vec<BmffBox>,
    pub(crate) associations: BTreeMap<u32, PropertyAssociation>,
}

pub(crate) struct Item {
    pub(crate) kind: [u8; 4],
    /// The item's `infe` box.
    pub(crate) info: BmffBox,
    /// Offset of the item name in the content of `infe`.
    pub(crate) name_offset: usize,
}

pub(crate) struct ItemReference {
    pub(crate) kind: [u8; 4],
    pub(crate) from: u32,
    pub(crate) to: Vec<u32>,
}

pub(crate) struct PropertyAssociation {
    /// The byte range of the `ipma` entry in the file.
    pub(crate) entry: Range<usize>,
    /// Property indices, counted from 1.
    properties: Vec<u16>,
}

impl<'file> Meta<'file> {
    pub(crate) fn read(file: &'file [u8], meta: &BmffBox) -> Result<Self, Error> {
        let children = meta.children(file, 4).collect::<Result<Vec<_>, _>>()?;
        let child = |kind| find_unique(&children, kind);
        let idat = child(b"idat")?.map(|idat| idat.body.clone());
        let primary = child(b"pitm")?.map(|pitm| primary(pitm.content(file)).ok_or_else(malformed));
        let items = child(b"iinf")?.map(|iinf| items(file, iinf));
        let locations = child(b"iloc")?
            .map(|iloc| ItemLocation::read_all(file, iloc, idat.as_ref()).ok_or_else(malformed));
        let references = child(b"iref")?.map(|iref| references(file, iref));
        let grouped = child(b"grpl")?.map(|grpl| grouped_items(file, grpl));
        let properties = child(b"iprp")?.map(|iprp| properties(file, iprp));
        let (properties, associations) = properties.transpose()?.unwrap_or_default();
        let meta = Self {
            file,
            meta: meta.clone(),
            primary: primary.transpose()?,
            items: items.transpose()?.unwrap_or_default(),
            locations: locations.transpose()?.unwrap_or_default(),
            references: references.transpose()?.unwrap_or_default(),
            grouped: grouped.transpose()?.unwrap_or_default(),
            idat,
            properties,
            associations,
            children,
        };
        meta.check_locations()?;
        Ok(meta)
    }

    /// Stripping rewrites these tables, so no item may have its data among them.
    fn check_locations(&self) -> Result<(), Error> {
        let tables = &self.meta.body;
        let idat = self.idat.clone().unwrap_or_default();
        for Range { start, end } in self.locations.values().flat_map(ItemLocation::ranges) {
            let in_idat = idat.start <= start && end <= idat.end;
            if start < tables.end && end > tables.start && !in_idat {
                return Err(Error::damaged("the data of a HEIF item overlaps the tables of the meta box"));
            }
        }
        Ok(())
    }

    pub(crate) fn item(&self, id: u32) -> Result<&Item, Error> {
        self.items.get(&id).ok_or_else(|| Error::damaged("a HEIF item is missing"))
    }

    /// Type and content of each property of an item, in the order of its association.
    pub(crate) fn properties(&self, id: u32) -> impl Iterator<Item = (&[u8; 4], &'file [u8])> {
        let numbers = self.associations.get(&id).map(|association| &association.properties);
        let property = |number: &u16| self.properties.get(usize::from(*number).checked_sub(1)?);
        let properties = numbers.into_iter().flatten().filter_map(property);
        properties.map(|property| (&property.kind, property.content(self.file)))
    }

    pub(crate) fn property(&self, id: u32, kind: &[u8; 4]) -> Option<&'file [u8]> {
        self.properties(id).find(|(name, _)| *name == kind).map(|(_, content)| content)
    }

    /// The input items of a derived image item, in order.
    pub(crate) fn derivation_inputs(&self, id: u32) -> &[u32] {
        let derived =
            self.references.iter().find(|reference| reference.kind == *b"dimg" && reference.from == id);
        derived.map_or(&[], |reference| &reference.to)
    }

    pub(crate) fn has_reference(&self, kind: &[u8; 4], from: u32, to: u32) -> bool {
        self.references
            .iter()
            .any(|reference| reference.kind == *kind && reference.from == from && reference.to.contains(&to))
    }
}

fn malformed() -> Error {
    Error::damaged("malformed HEIF tables")
}

fn primary(pitm: &[u8]) -> Option<u32> {
    let (version, _, mut rest) = full_box(pitm)?;
    rest.u16_or_u32(version > 0)
}

fn items(file: &[u8], iinf: &BmffBox) -> Result<BTreeMap<u32, Item>, Error> {
    // Version and flags, then the entry count.
    let header = if iinf.version(file) == 0 { 6 } else { 8 };
    let mut items = BTreeMap::new();
    for info in iinf.children(file, header) {
        let (id, item) = Item::read(file, info?).ok_or_else(malformed)?;
        // Ambiguous: decoders disagree which of the two is the image.
        if items.insert(id, item).is_some() {
            return Err(Error::damaged("two HEIF items with the same ID"));
        }
    }
    Ok(items)
}

impl Item {
    fn read(file: &[u8], info: BmffBox) -> Option<(u32, Self)> {
        let (version, _, mut rest) = full_box(info.content(file)).filter(|_| info.kind == *b"infe")?;
        let id = rest.u16_or_u32(version > 2)?;
        let _protection = rest.u16()?;
        // Versions 0 and 1 have no item type: all are MIME items.
        let kind = if version < 2 { *b"mime" } else { rest.array()? };
        let name_offset = info.body.len() - rest.0.len();
        Some((id, Self { kind, info, name_offset }))
    }
}

fn references(file: &[u8], iref: &BmffBox) -> Result<Vec<ItemReference>, Error> {
    let wide = iref.version(file) > 0;
    let mut references = Vec::new();
    let (mut targets, mut derived) = (0, BTreeSet::new());
    for child in iref.children(file, 4) {
        let child = child?;
        let reference = ItemReference::read(&child, file, wide).ok_or_else(malformed)?;
        targets += reference.to.len();
        check_limit(targets, MAX_TARGETS)?;
        // The order of the tiles determines the image, so a second list makes it ambiguous.
        if reference.kind == *b"dimg" && !derived.insert(reference.from) {
            return Err(Error::damaged("two tile lists for one HEIF item"));
        }
        references.push(reference);
    }
    Ok(references)
}

impl ItemReference {
    fn read(child: &BmffBox, file: &[u8], wide: bool) -> Option<Self> {
        let mut rest = Reader(child.content(file));
        let from = rest.u16_or_u32(wide)?;
        let count = rest.u16()?;
        let to: Option<_> = (0..count).map(|_| rest.u16_or_u32(wide)).collect();
        Some(Self { kind: child.kind, from, to: to? })
    }
}

fn grouped_items(file: &[u8], grpl: &BmffBox) -> Result<BTreeSet<u32>, Error> {
    let mut grouped = BTreeSet::new();
    for group in grpl.children(file, 0) {
        // Version and flags, group ID and entry count.
        let content = group?.content(file);
        let (ids, _) = content.get(12..).unwrap_or_default().as_chunks();
        for id in ids {
            check_limit(grouped.len(), MAX_TARGETS)?;
            grouped.insert(u32::from_be_bytes(*id));
        }
    }
    Ok(grouped)
}

/// The property boxes of a file, and the associations by item ID.
type Properties = (Vec<BmffBox>, BTreeMap<u32, PropertyAssociation>);

fn properties(file: &[u8], iprp: &BmffBox) -> Result<Properties, Error> {
    let children = iprp.children(file, 0).collect::<Result<Vec<_>, _>>()?;
    let properties = match find_unique(&children, b"ipco")? {
        Some(ipco) => ipco.children(file, 0).collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    let mut associations = BTreeMap::new();
    for ipma in children.iter().filter(|child| child.kind == *b"ipma") {
        read_associations(file, ipma, &mut associations).ok_or_else(malformed)?;
    }
    Ok((properties, associations))
}

/// Reads an `ipma` box. None if an entry is malformed or an item has two.
fn read_associations(
    file: &[u8],
    ipma: &BmffBox,
    associations: &mut BTreeMap<u32, PropertyAssociation>,
) -> Option<()> {
    let (version, flags, mut rest) = full_box(ipma.content(file))?;
    for _ in 0..rest.u32()? {
        let start = ipma.body.end - rest.0.len();
        let id = rest.u16_or_u32(version > 0)?;
        let mut properties = Vec::new();
        for _ in 0..rest.u8()? {
            // The highest bit is the `essential` flag.
            properties.push(match flags & 1 {
                1 => rest.u16()? & 0x7FFF,
                _ => u16::from(rest.u8()? & 0x7F),
            });
        }
        let entry = start..ipma.body.end - rest.0.len();
        let is_duplicate = associations.insert(id, PropertyAssociation { entry, properties }).is_some();
        if is_duplicate || associations.len() > MAX_BOXES {
            return None;
        }
    }
    Some(())
}
