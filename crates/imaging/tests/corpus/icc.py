"""Generates ICC profiles from published primaries and transfer curves.

`python3 icc.py` writes the profile that tags the images of the engine.
"""

import pathlib
import struct

import numpy as np

D50 = np.array([0.9642, 1.0, 0.8249])
D65_XY = (0.3127, 0.3290)
D50_XY = (0.34567, 0.35850)
DISPLAY_P3 = [(0.68, 0.32), (0.265, 0.69), (0.15, 0.06)]
SRGB = [(0.64, 0.33), (0.30, 0.60), (0.15, 0.06)]
ADOBE_RGB = [(0.64, 0.33), (0.21, 0.71), (0.15, 0.06)]
PROPHOTO = [(0.7347, 0.2653), (0.1596, 0.8404), (0.0366, 0.0001)]
BRADFORD = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])


def xyz(x, y):
    return np.array([x / y, 1, (1 - x - y) / y])


def adaptation(white):
    """The matrix from XYZ under a white point to XYZ under D50."""
    scale = np.diag((BRADFORD @ D50) / (BRADFORD @ xyz(*white)))
    return np.linalg.inv(BRADFORD) @ scale @ BRADFORD


def colorants(primaries, white):
    """The columns of the matrix from linear RGB to XYZ under D50."""
    columns = np.array([xyz(*point) for point in primaries]).T
    return adaptation(white) @ (columns * np.linalg.solve(columns, xyz(*white)))


def fixed(values):
    return b"".join(struct.pack(">i", round(float(value) * 65536)) for value in values)


def profile(space, tags, kind=b"mntr", pcs=b"XYZ "):
    tags = {b"desc": description("corpus"), b"cprt": b"text\0\0\0\0MIT OR Apache-2.0\0", **tags}
    tags[b"wtpt"] = b"XYZ \0\0\0\0" + fixed(D50)
    return assemble(tags, b"\x02\x40\0\0", space, kind, pcs)


def assemble(tags, version, space, kind=b"mntr", pcs=b"XYZ ", share=False):
    """Writes equal tags once if they may share their bytes."""
    table, body, offsets = b"", b"", {}
    start = 128 + 4 + 12 * len(tags)
    for name, tag in tags.items():
        if not share or tag not in offsets:
            offsets[tag] = start + len(body)
            body += tag + bytes(-len(tag) % 4)
        table += name + struct.pack(">II", offsets[tag], len(tag))
    size = start + len(body)
    header = struct.pack(">I4s4s4s4s4s", size, b"\0" * 4, version, kind, space, pcs)
    header += struct.pack(">6H", 2024, 1, 1, 0, 0, 0) + b"acsp" + bytes(28) + fixed(D50)
    return header + bytes(128 - len(header)) + struct.pack(">I", len(tags)) + table + body


def description(text):
    text = text.encode() + b"\0"
    return b"desc\0\0\0\0" + struct.pack(">I", len(text)) + text + bytes(4 + 4 + 2 + 1 + 67)


def gamma(exponent):
    return b"curv\0\0\0\0" + struct.pack(">IH", 1, round(exponent * 256)) + b"\0\0"


def srgb_curve():
    steps = np.linspace(0, 1, 256)
    light = np.where(steps <= 0.04045, steps / 12.92, ((steps + 0.055) / 1.055) ** 2.4)
    return b"curv\0\0\0\0" + struct.pack(">I", 256) + (light * 65535).round().astype(">u2").tobytes()


def rgb(primaries, white, curve):
    columns = colorants(primaries, white).T
    tags = {
        name: b"XYZ \0\0\0\0" + fixed(column) for name, column in zip((b"rXYZ", b"gXYZ", b"bXYZ"), columns)
    }
    tags |= {name: curve for name in (b"rTRC", b"gTRC", b"bTRC")}
    return profile(b"RGB ", tags)


def adobe_rgb():
    return rgb(ADOBE_RGB, D65_XY, gamma(563 / 256))


def prophoto():
    return rgb(PROPHOTO, D50_XY, gamma(1.8))


def swapped():
    """sRGB with rotated primaries: green for red, blue for green, red for blue."""
    return rgb([SRGB[1], SRGB[2], SRGB[0]], D65_XY, srgb_curve())


def grey(exponent):
    return profile(b"GRAY", {b"kTRC": gamma(exponent)})


def lab(light):
    """CIE Lab (D50) of linear sRGB, in the 16-bit encoding of a version 2 profile."""
    relative = light @ colorants(SRGB, D65_XY).T / D50
    f = np.where(relative > 216 / 24389, np.cbrt(relative), (24389 / 27 * relative + 16) / 116)
    x, y, z = f[..., 0], f[..., 1], f[..., 2]
    lightness, a, b = 116 * y - 16, 500 * (x - y), 200 * (y - z)
    return (
        np.stack([lightness * 652.8, (a + 128) * 256, (b + 128) * 256], -1)
        .round()
        .clip(0, 65535)
        .astype(">u2")
    )


def table(inputs, grid, function):
    """A lookup table from device values to Lab, as `mft2`."""
    axes = np.meshgrid(*[np.linspace(0, 1, grid)] * inputs, indexing="ij")
    colours = lab(function(np.stack(axes, -1)))
    identity_curve = struct.pack(">HH", 0, 65535)
    header = (
        b"mft2\0\0\0\0" + bytes([inputs, 3, grid, 0]) + fixed(np.eye(3).flatten()) + struct.pack(">HH", 2, 2)
    )
    return header + identity_curve * inputs + colours.tobytes() + identity_curve * 3


def cmyk():
    """A CMYK profile of four partially transparent inks."""
    inks = np.array([[0.02, 0.42, 0.72], [0.62, 0.03, 0.20], [0.86, 0.70, 0.03], [0.01, 0.01, 0.01]])

    def printed(amounts):
        return np.prod(1 - amounts[..., None] * (1 - inks), axis=-2)

    return profile(b"CMYK", {b"A2B0": table(4, 6, printed)}, kind=b"prtr", pcs=b"Lab ")


def rgb_table():
    """A scanner profile with a colour cast and a steep curve."""

    def scanned(values):
        return values**2.6 * np.array([0.95, 0.7, 0.9])

    return profile(b"RGB ", {b"A2B0": table(3, 9, scanned)}, kind=b"scnr", pcs=b"Lab ")


def unicode_text(text):
    return b"mluc\0\0\0\0" + struct.pack(">II4sII", 1, 12, b"enUS", 2 * len(text), 28) + text.encode("utf-16-be")


def display_p3():
    """Display P3 as a small profile of version 4: the curve is a function, and all channels share it."""
    curve = b"para\0\0\0\0\0\3\0\0" + fixed([2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045])
    columns = colorants(DISPLAY_P3, D65_XY).T
    tags = {
        b"desc": unicode_text("Display P3"),
        b"cprt": unicode_text("MIT OR Apache-2.0"),
        b"wtpt": b"XYZ \0\0\0\0" + fixed(D50),
        b"chad": b"sf32\0\0\0\0" + fixed(adaptation(D65_XY).flatten()),
        **{name: b"XYZ \0\0\0\0" + fixed(column) for name, column in zip((b"rXYZ", b"gXYZ", b"bXYZ"), columns)},
        **{name: curve for name in (b"rTRC", b"gTRC", b"bTRC")},
    }
    return assemble(tags, b"\x04\x30\0\0", b"RGB ", share=True)


if __name__ == "__main__":
    (pathlib.Path(__file__).parents[2] / "src/gamut/display-p3.icc").write_bytes(display_p3())
