//! The `meta` box of a HEIF file: its items with their references and properties.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::boxes::{BmffBox, MAX_BOXES, Reader, check_limit, full_box, only};
use super::locations::Location;
use crate::error::Error;

/// Targets of all references together.
const MAX_TARGETS: usize = 4 * MAX_BOXES;

pub(crate) struct Meta<'file> {
    file: &'file [u8],
    /// The box itself.
    pub(crate) meta: BmffBox,
    pub(crate) children: Vec<BmffBox>,
    pub(crate) primary: Option<u32>,
    pub(crate) items: BTreeMap<u32, Item>,
    /// By item, listed in `iinf` or not.
    pub(crate) locations: BTreeMap<u32, Location>,
    pub(crate) references: Vec<Reference>,
    /// Items that belong together, or are alternatives to each other.
    pub(crate) grouped: BTreeSet<u32>,
    /// Items of few bytes, within the box itself.
    pub(crate) idat: Option<Range<usize>>,
    properties: Vec<BmffBox>,
    pub(crate) associations: BTreeMap<u32, Association>,
}

pub(crate) struct Item {
    pub(crate) kind: [u8; 4],
    /// Its `infe` box.
    pub(crate) info: BmffBox,
    /// Where in the content of `infe` its name begins.
    pub(crate) name: usize,
}

pub(crate) struct Reference {
    pub(crate) kind: [u8; 4],
    pub(crate) from: u32,
    pub(crate) to: Vec<u32>,
}

pub(crate) struct Association {
    /// The entry's position in the file.
    pub(crate) entry: Range<usize>,
    /// Numbers of properties, from one on.
    properties: Vec<u16>,
}

impl<'file> Meta<'file> {
    pub(crate) fn read(file: &'file [u8], meta: &BmffBox) -> Result<Self, Error> {
        let children = meta.children(file, 4).collect::<Result<Vec<_>, _>>()?;
        let child = |kind| only(&children, kind);
        let idat = child(b"idat")?.map(|idat| idat.body.clone());
        let primary = child(b"pitm")?.map(|pitm| primary(pitm.content(file)).ok_or_else(broken));
        let items = child(b"iinf")?.map(|iinf| items(file, iinf));
        let locations =
            child(b"iloc")?.map(|iloc| Location::read_all(file, iloc, idat.as_ref()).ok_or_else(broken));
        let references = child(b"iref")?.map(|iref| references(file, iref));
        let grouped = child(b"grpl")?.map(|grpl| groups(file, grpl));
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

    /// Tables are rewritten when the file is stripped, so no item may have its bytes among them.
    fn check_locations(&self) -> Result<(), Error> {
        let tables = &self.meta.body;
        let idat = self.idat.clone().unwrap_or_default();
        for Range { start, end } in self.locations.values().flat_map(Location::spans) {
            let in_idat = idat.start <= start && end <= idat.end;
            if start < tables.end && end > tables.start && !in_idat {
                return Err(Error::damaged("a HEIF item within the tables of the meta box"));
            }
        }
        Ok(())
    }

    pub(crate) fn item(&self, id: u32) -> Result<&Item, Error> {
        self.items.get(&id).ok_or_else(|| Error::damaged("a missing HEIF item"))
    }

    /// Kind and content of every property of an item, in their order.
    pub(crate) fn properties(&self, id: u32) -> impl Iterator<Item = (&[u8; 4], &'file [u8])> {
        let numbers = self.associations.get(&id).map(|association| &association.properties);
        let property = |number: &u16| self.properties.get(usize::from(*number).checked_sub(1)?);
        let properties = numbers.into_iter().flatten().filter_map(property);
        properties.map(|property| (&property.kind, property.content(self.file)))
    }

    pub(crate) fn property(&self, id: u32, kind: &[u8; 4]) -> Option<&'file [u8]> {
        self.properties(id).find(|(name, _)| *name == kind).map(|(_, content)| content)
    }

    /// The items that a derived one is made of, in their order.
    pub(crate) fn inputs(&self, id: u32) -> &[u32] {
        let found = self.references.iter().find(|found| found.kind == *b"dimg" && found.from == id);
        found.map_or(&[], |found| &found.to)
    }

    pub(crate) fn refers(&self, kind: &[u8; 4], from: u32, to: u32) -> bool {
        self.references
            .iter()
            .any(|found| found.kind == *kind && found.from == from && found.to.contains(&to))
    }
}

fn broken() -> Error {
    Error::damaged("broken HEIF tables")
}

fn primary(pitm: &[u8]) -> Option<u32> {
    let (version, _, mut rest) = full_box(pitm)?;
    rest.u16_or_u32(version > 0)
}

fn items(file: &[u8], iinf: &BmffBox) -> Result<BTreeMap<u32, Item>, Error> {
    // Version and flags, then the number of entries.
    let header = if iinf.version(file) == 0 { 6 } else { 8 };
    let mut items = BTreeMap::new();
    for info in iinf.children(file, header) {
        let (id, item) = Item::read(file, info?).ok_or_else(broken)?;
        // One decoder would take the first for the picture, another the last.
        if items.insert(id, item).is_some() {
            return Err(Error::damaged("two HEIF items with one id"));
        }
    }
    Ok(items)
}

impl Item {
    fn read(file: &[u8], info: BmffBox) -> Option<(u32, Self)> {
        let (version, _, mut rest) = full_box(info.content(file)).filter(|_| info.kind == *b"infe")?;
        let id = rest.u16_or_u32(version > 2)?;
        let _protection = rest.u16()?;
        // Entries of the first versions have no kind: all are MIME items.
        let kind = if version < 2 { *b"mime" } else { rest.array()? };
        let name = info.body.len() - rest.0.len();
        Some((id, Self { kind, info, name }))
    }
}

fn references(file: &[u8], iref: &BmffBox) -> Result<Vec<Reference>, Error> {
    let wide = iref.version(file) > 0;
    let mut references = Vec::new();
    let (mut targets, mut derived) = (0, BTreeSet::new());
    for child in iref.children(file, 4) {
        let child = child?;
        let reference = Reference::read(&child, file, wide).ok_or_else(broken)?;
        targets += reference.to.len();
        check_limit(targets, MAX_TARGETS)?;
        // The order of tiles is the picture: two orders are two pictures.
        if reference.kind == *b"dimg" && !derived.insert(reference.from) {
            return Err(Error::damaged("two lists of tiles of one HEIF item"));
        }
        references.push(reference);
    }
    Ok(references)
}

impl Reference {
    fn read(child: &BmffBox, file: &[u8], wide: bool) -> Option<Self> {
        let mut rest = Reader(child.content(file));
        let from = rest.u16_or_u32(wide)?;
        let count = rest.u16()?;
        let to: Option<_> = (0..count).map(|_| rest.u16_or_u32(wide)).collect();
        Some(Self { kind: child.kind, from, to: to? })
    }
}

fn groups(file: &[u8], grpl: &BmffBox) -> Result<BTreeSet<u32>, Error> {
    let mut grouped = BTreeSet::new();
    for group in grpl.children(file, 0) {
        // Version and flags, its own id, and the number of entries.
        let content = group?.content(file);
        let (ids, _) = content.get(12..).unwrap_or_default().as_chunks();
        for id in ids {
            check_limit(grouped.len(), MAX_TARGETS)?;
            grouped.insert(u32::from_be_bytes(*id));
        }
    }
    Ok(grouped)
}

/// The properties of a file, and which of them each item has.
type Properties = (Vec<BmffBox>, BTreeMap<u32, Association>);

fn properties(file: &[u8], iprp: &BmffBox) -> Result<Properties, Error> {
    let children = iprp.children(file, 0).collect::<Result<Vec<_>, _>>()?;
    let properties = match only(&children, b"ipco")? {
        Some(ipco) => ipco.children(file, 0).collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    let mut associations = BTreeMap::new();
    for ipma in children.iter().filter(|child| child.kind == *b"ipma") {
        associate(file, ipma, &mut associations).ok_or_else(broken)?;
    }
    Ok((properties, associations))
}

/// None if an entry is broken, or if an item has two.
fn associate(file: &[u8], ipma: &BmffBox, associations: &mut BTreeMap<u32, Association>) -> Option<()> {
    let (version, flags, mut rest) = full_box(ipma.content(file))?;
    for _ in 0..rest.u32()? {
        let start = ipma.body.end - rest.0.len();
        let id = rest.u16_or_u32(version > 0)?;
        let mut properties = Vec::new();
        for _ in 0..rest.u8()? {
            // The highest bit tells whether a reader must understand the property.
            properties.push(match flags & 1 {
                1 => rest.u16()? & 0x7FFF,
                _ => u16::from(rest.u8()? & 0x7F),
            });
        }
        let entry = start..ipma.body.end - rest.0.len();
        let is_second = associations.insert(id, Association { entry, properties }).is_some();
        if is_second || associations.len() > MAX_BOXES {
            return None;
        }
    }
    Some(())
}
