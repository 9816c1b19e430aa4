"""Reads coded images from HEIF files, and writes HEIF files that no encoder makes: crops, overlays, identity
derivations, layer selections and gain maps."""

import struct


def box(kind, *content):
    content = b"".join(content)
    return struct.pack(">I", len(content) + 8) + kind + content


def full_box(kind, *content, version=0, flags=0):
    return box(kind, struct.pack(">I", version << 24 | flags), *content)


def boxes(data):
    """Type and content of each box."""
    while data:
        length, kind = struct.unpack(">I4s", data[:8])
        yield kind, data[8:length]
        data = data[length:]


def read(file):
    """The items of a file with 16-bit IDs: type, properties, coded data and references."""
    meta = dict(boxes(dict(boxes(file))[b"meta"][4:]))
    items = {}
    for _, info in boxes(meta[b"iinf"][6:]):
        (item,) = struct.unpack(">H", info[4:6])
        items[item] = {"kind": info[8:12], "properties": [], "data": b"", "references": []}

    (properties,) = [list(boxes(content)) for kind, content in boxes(meta[b"iprp"]) if kind == b"ipco"]
    (associations,) = [content for kind, content in boxes(meta[b"iprp"]) if kind == b"ipma"]
    assert associations[:4] == bytes(4), "large property indices"
    rest = associations[8:]
    while rest:
        item, count = struct.unpack(">HB", rest[:3])
        for index in rest[3 : 3 + count]:
            kind, content = properties[(index & 0x7F) - 1]
            items[item]["properties"].append((box(kind, content), index & 0x80))
        rest = rest[3 + count :]

    iloc = meta[b"iloc"]
    version, (sizes, count) = iloc[0], struct.unpack(">HH", iloc[4:8])
    assert sizes & 0xFF00 == 0x4400 and sizes & 15 == 0, "other number sizes"
    rest = iloc[8:]
    for _ in range(count):
        (item,), rest = struct.unpack(">H", rest[:2]), rest[2:]
        method, rest = (rest[1], rest[2:]) if version else (0, rest)
        base, rest = rest[2 : 2 + (sizes >> 4 & 15)], rest[2 + (sizes >> 4 & 15) :]
        (extents,), rest = struct.unpack(">H", rest[:2]), rest[2:]
        for _ in range(extents):
            (start, length), rest = struct.unpack(">II", rest[:8]), rest[8:]
            start += int.from_bytes(base, "big")
            source = meta[b"idat"] if method else file
            items[item]["data"] += source[start : start + length]

    for kind, content in boxes(meta.get(b"iref", bytes(4))[4:]):
        item, count = struct.unpack(">HH", content[:4])
        items[item]["references"].append((kind, list(struct.unpack(f">{count}H", content[4:]))))
    return items, struct.unpack(">H", meta[b"pitm"][4:6])[0]


def image(file):
    """The primary item of a file without derived images."""
    items, primary = read(file)
    return items[primary]


def item(kind, properties=(), data=b"", references=()):
    return {"kind": kind, "properties": list(properties), "data": data, "references": list(references)}


def but(item, properties=(), references=()):
    """A copy of an item with more properties and references."""
    return {
        **item,
        "properties": item["properties"] + list(properties),
        "references": item["references"] + list(references),
    }


def write(brand, primary, items, groups=b""):
    """A file of these items, which are numbered from 1."""
    infos = b"".join(
        full_box(b"infe", struct.pack(">HH", number, 0), item["kind"], b"\0", version=2)
        for number, item in enumerate(items, 1)
    )
    references = b"".join(
        box(kind, struct.pack(f">HH{len(to)}H", number, len(to), *to))
        for number, item in enumerate(items, 1)
        for kind, to in item["references"]
    )
    properties = []
    associations = b""
    for number, item in enumerate(items, 1):
        associations += struct.pack(">HB", number, len(item["properties"]))
        for content, essential in item["properties"]:
            if content not in properties:
                properties.append(content)
            associations += bytes([properties.index(content) + 1 | essential])

    def front(offset):
        locations = b""
        for number, item in enumerate(items, 1):
            locations += struct.pack(">HHHII", number, 0, 1, offset, len(item["data"]))
            offset += len(item["data"])
        tables = [
            full_box(b"hdlr", bytes(4), b"pict", bytes(13)),
            full_box(b"pitm", struct.pack(">H", primary)),
            full_box(b"iloc", b"\x44\0", struct.pack(">H", len(items)), locations),
            full_box(b"iinf", struct.pack(">H", len(items)), infos),
            full_box(b"iref", references) if references else b"",
            box(
                b"iprp",
                box(b"ipco", *properties),
                full_box(b"ipma", struct.pack(">I", len(items)), associations),
            ),
            box(b"grpl", groups) if groups else b"",
        ]
        return box(b"ftyp", brand, bytes(4), brand, b"mif1miaf") + full_box(b"meta", *tables)

    data = b"".join(item["data"] for item in items)
    return front(len(front(0)) + 8) + box(b"mdat", data)


# Properties, each with its essential flag


def size(width, height):
    return full_box(b"ispe", struct.pack(">II", width, height)), 0


def crop(whole, region):
    """The clean aperture of a region (left, top, right, bottom) of an image."""
    fractions = []
    for axis in (0, 1):
        fractions.append((region[axis + 2] - region[axis], 1))
    for axis in (0, 1):
        fractions.append((region[axis] + region[axis + 2] - whole[axis], 2))
    return box(b"clap", *(struct.pack(">iI", *fraction) for fraction in fractions)), 0x80


def rotation(quarters):
    """Counter-clockwise."""
    return box(b"irot", bytes([quarters])), 0x80


def mirror(axis):
    """0 exchanges top and bottom, 1 left and right."""
    return box(b"imir", bytes([axis])), 0x80


def layer(number):
    return box(b"lsel", struct.pack(">H", number)), 0x80


def operating_point(index):
    return box(b"a1op", bytes([index])), 0x80


# Derived images


def overlay(width, height, fill, inputs, positions):
    fill = struct.pack(">4H", *(value * 257 for value in fill))
    places = b"".join(struct.pack(">hh", *position) for position in positions)
    data = b"\0\0" + fill + struct.pack(">HH", width, height) + places
    return item(b"iovl", [size(width, height)], data, [(b"dimg", inputs)])


def identity(of, width, height, properties=()):
    return item(b"iden", [size(width, height), *properties], b"", [(b"dimg", [of])])


def grid(columns, rows, width, height, tiles):
    data = bytes([0, 0, rows - 1, columns - 1]) + struct.pack(">HH", width, height)
    return item(b"grid", [size(width, height)], data, [(b"dimg", tiles)])
