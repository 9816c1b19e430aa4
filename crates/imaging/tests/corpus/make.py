"""Generates the test corpus with real encoders, and the reference images with other decoders than ours.
README.md lists the requirements and the files."""

import io
import struct
import subprocess
import tempfile
import zlib
from pathlib import Path

import imagecodecs
import numpy as np
import pillow_heif
from PIL import Image, ImageCms, ImageOps

import container
import hdr
import icc
import scene

HERE = Path(__file__).parent
P3 = (HERE / "../../../../e2e/fixtures/display-p3.icc").read_bytes()
SRGB = ImageCms.createProfile("sRGB")
# The transform from the oriented to the stored image, by EXIF orientation.
STORED = {
    1: None,
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}

pillow_heif.register_heif_opener()


# Reference images


def srgb(image, profile):
    """Converts an image from its profile to sRGB with LittleCMS."""
    if image.mode.startswith("I;16"):
        image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    transparent = "transparency" in image.info or "A" in image.getbands()
    if transparent:
        image = image.convert("RGBA")
    elif image.mode in ("1", "P"):
        image = image.convert("L" if image.mode == "1" else "RGB")
    if not profile:
        return image.convert("RGBA" if transparent else "RGB")
    alpha = image.getchannel("A") if transparent else None
    image = image.convert("RGB") if transparent else image
    profile = ImageCms.ImageCmsProfile(io.BytesIO(profile))
    image = ImageCms.profileToProfile(image, profile, SRGB, outputMode="RGB")
    if alpha:
        image.putalpha(alpha)
    return image


def reference(data, profile=None):
    """The centre square of the oriented image in sRGB. The argument overrides the embedded profile."""
    image = Image.open(io.BytesIO(data))
    image.load()
    profile = image.info.get("icc_profile") if profile is None else profile
    return scene.centre(srgb(ImageOps.exif_transpose(image), profile))


def libheif(data):
    """The same by libheif's own converter, which applies every transform of HEIF."""
    converted = tool("heif-convert {in.heif} {out.png}", **{"in.heif": data})
    return scene.centre(srgb(Image.open(io.BytesIO(converted)), None))


def on_white(image):
    white = Image.new("RGBA", image.size, "white")
    return np.asarray(Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")).astype(int)


def write(path, data):
    path = HERE / path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def add(path, data, original, profile=None, within=8.0, square=None):
    """Adds a file and its reference image, which must be close to the original drawing."""
    square = square or reference(data, profile)
    # Pixels only: LittleCMS writes a timestamp.
    square.info.clear()
    distance = np.abs(on_white(square) - on_white(scene.centre(original))).mean()
    assert distance <= within, f"{path} differs from its original by {distance:.1f}"
    write(path, data)
    png = io.BytesIO()
    square.save(png, "png", optimize=True)
    write(f"expected/{path}.png", png.getvalue())


# Encoders


def tool(command, **files):
    """Runs a command in a temporary folder: `{name}` is an input file, `{out.ext}` the output."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name, data in files.items():
            (folder / name).write_bytes(data)
        arguments = [word.replace("{", f"{folder}/").replace("}", "") for word in command.split()]
        result = subprocess.run(arguments, capture_output=True)
        assert result.returncode == 0, f"{command}: {result.stderr.decode()}"
        outputs = list(folder.glob("out*"))
        return outputs[0].read_bytes() if outputs else (folder / next(iter(files))).read_bytes()


def ppm(image):
    """Encodes an image or an array as PAM: 8 or 16 bits, with or without alpha."""
    pixels = np.asarray(image)
    pixels = pixels[..., None] if pixels.ndim == 2 else pixels
    height, width, depth = pixels.shape
    kind = {1: "GRAYSCALE", 2: "GRAYSCALE_ALPHA", 3: "RGB", 4: "RGB_ALPHA"}[depth]
    max_value = 65535 if pixels.dtype.itemsize == 2 else 255
    size = f"WIDTH {width}\nHEIGHT {height}\nDEPTH {depth}"
    header = f"P7\n{size}\nMAXVAL {max_value}\nTUPLTYPE {kind}\nENDHDR\n"
    return header.encode() + pixels.astype(">u2" if max_value == 65535 else ">u1").tobytes()


def encoded(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def jpeg(image, options="-sample 1x1", quality=92):
    kind = (
        f"P5 {image.width} {image.height} 255\n"
        if image.mode == "L"
        else f"P6 {image.width} {image.height} 255\n"
    )
    return tool(
        f"cjpeg -quality {quality} {options} -outfile {{out.jpg}} {{in.ppm}}",
        **{"in.ppm": kind.encode() + image.tobytes()},
    )


def jpegtran(data, options, **files):
    return tool(f"jpegtran {options} -outfile {{out.jpg}} {{in.jpg}}", **{"in.jpg": data}, **files)


def png(pixels, colour, depth, options=""):
    define = f"-define png:color-type={colour} -define png:bit-depth={depth} -define png:exclude-chunks=all"
    data = tool(f"/usr/bin/convert {{in.pam}} {options} {define} {{out.png}}", **{"in.pam": ppm(pixels)})
    assert data[24:26] == bytes([depth, colour]), f"expected {colour} and {depth}, got {data[24:26]}"
    return data


def webp(image, options):
    return tool(f"cwebp -quiet {options} {{in.png}} -o {{out.webp}}", **{"in.png": encoded(image, "png")})


def avif(image, options, **files):
    command = f"avifenc -j 1 -s 4 --min 8 --max 12 {options} {{in.png}} {{out.avif}}"
    return tool(command, **{"in.png": encoded(image, "png")}, **files)


def heic(image, **options):
    return encoded(image, "heif", quality=88, **options)


def oriented(data, extension, orientation):
    command = f"exiftool -q -n -overwrite_original -Orientation={orientation} {{photo.{extension}}}"
    return tool(command, **{f"photo.{extension}": data})


# Segments and chunks


def segment(jpeg, marker, body):
    return jpeg[:2] + bytes([0xFF, marker]) + struct.pack(">H", len(body) + 2) + body + jpeg[2:]


def jpeg_profile(jpeg, profile, segments=1):
    size = -(-len(profile) // segments)
    # Each segment is inserted before the previous one, so they are in reverse order.
    for index in range(segments):
        body = profile[index * size : (index + 1) * size]
        jpeg = segment(jpeg, 0xE2, b"ICC_PROFILE\0" + bytes([index + 1, segments]) + body)
    return jpeg


def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def with_chunk(png, name, body, before=b"IDAT"):
    at = png.index(before) - 4
    return png[:at] + chunk(name, body) + png[at:]


def png_profile(png, profile):
    return with_chunk(png, b"iCCP", b"icc\0\0" + zlib.compress(profile, 9), before=b"IDAT")


# The corpus


def jpegs():
    photo, grey = scene.photo(), scene.grey()
    baseline = jpeg(photo, "-sample 2x2")
    add("jpeg/baseline.jpg", baseline, photo)
    # The same DCT coefficients with another entropy coding.
    scans = b"0; 1; 2;\n"
    for name, data in {
        "optimised": jpegtran(baseline, "-optimize"),
        "progressive": jpegtran(baseline, "-progressive"),
        "restarts": jpegtran(baseline, "-restart 1"),
        "restarts-every-block": jpegtran(baseline, "-restart 1B"),
        "separate-scans": jpegtran(baseline, "-scans {scans}", scans=scans),
        "progressive-restarts": jpegtran(baseline, "-progressive -restart 2B"),
        "arithmetic": jpegtran(baseline, "-arithmetic"),
    }.items():
        assert reference(data).tobytes() == reference(baseline).tobytes(), name
        write(f"jpeg/{name}.jpg", data)

    for name, sampling in {"444": "1x1", "422": "2x1", "440": "1x2", "411": "4x1", "410": "4x2"}.items():
        add(f"jpeg/{name}.jpg", jpeg(photo, f"-sample {sampling}"), photo)
    add("jpeg/411-progressive.jpg", jpeg(photo, "-sample 4x1 -progressive"), photo)
    wide_luma = jpegtran(jpeg(photo, "-sample 2x1"), "-scans {scans}", scans=scans)
    add("jpeg/422-separate-scans.jpg", wide_luma, photo)
    add("jpeg/grey.jpg", jpeg(grey, "-grayscale"), grey)
    add("jpeg/grey-progressive.jpg", jpeg(grey, "-grayscale -progressive"), grey)
    # Sampling factors have no meaning for a single component, but old cameras wrote them.
    odd = jpeg(grey, "-grayscale")
    frame = odd.index(b"\xff\xc0")
    odd = odd[: frame + 11] + b"\x22" + odd[frame + 12 :]
    add("jpeg/grey-2x2.jpg", odd, grey)
    add("jpeg/rgb.jpg", jpeg(photo, "-rgb"), photo)
    add("jpeg/low-quality.jpg", jpeg(photo, "-sample 2x2", quality=20), photo, within=12)

    for width, height in [(1, 1), (17, 13), (97, 61), (8, 200)]:
        small = photo.resize((width, height), Image.Resampling.BOX)
        for name, options in {"": "", "-progressive": "-progressive"}.items():
            data = jpeg(small, f"-sample 2x2 {options}")
            add(f"jpeg/{width}x{height}{name}.jpg", data, small, within=14)

    inks = printed(photo)
    add("jpeg/cmyk.jpg", encoded(inks, "jpeg", quality=92), photo, within=10)
    add("jpeg/cmyk-progressive.jpg", encoded(inks, "jpeg", quality=92, progressive=True), photo, within=10)
    add("jpeg/ycck.jpg", ycck(inks), photo, within=10)

    wide = np.asarray(photo).astype(np.uint16) * 16
    twelve = imagecodecs.jpeg8_encode(wide, level=92, bitspersample=12)
    square = Image.fromarray((imagecodecs.jpeg8_decode(twelve) >> 4).astype(np.uint8))
    add("jpeg/12-bit.jpg", twelve, photo, square=scene.centre(square))


def printed(image):
    """Converts RGB to CMYK with maximum black, without a profile."""
    pixels = np.asarray(image).astype(float) / 255
    black = 1 - pixels.max(-1)
    inks = 1 - pixels / np.maximum(1 - black, 1e-6)[..., None]
    inks = np.dstack([inks, black]).clip(0, 1)
    return Image.fromarray((inks * 255).round().astype(np.uint8), "CMYK")


def ycck(inks, quality=92):
    data = tool(
        f"/usr/bin/convert {{in.tif}} -strip -quality {quality} {{out.jpg}}",
        **{"in.tif": encoded(inks, "tiff")},
    )
    at = data.index(b"Adobe")
    assert data[at + 11] == 2, "not a YCCK file"
    return data


def pngs():
    photo, grey = np.asarray(scene.photo()), np.asarray(scene.grey())
    alpha, disc = np.asarray(scene.alpha()), scene.cut_out()
    # 16-bit samples whose low byte is not a copy of the high byte.
    wide = lambda pixels: pixels.astype(np.uint16) << 8 | (pixels // 3 + 40)

    for depth in (1, 2, 4, 8):
        levels = (1 << depth) - 1
        stepped = ((grey.astype(int) * levels + 127) // 255 * 255 // levels).astype(np.uint8)
        if depth < 8:
            add(f"png/grey-{depth}.png", png(stepped, 0, depth), Image.fromarray(stepped))
    plain = {
        "grey-8": (grey, 0, 8),
        "grey-16": (wide(grey), 0, 16),
        "grey-alpha-8": (np.dstack([grey, alpha]), 4, 8),
        "grey-alpha-16": (wide(np.dstack([grey, alpha])), 4, 16),
        "rgb-8": (photo, 2, 8),
        "rgb-16": (wide(photo), 2, 16),
        "rgba-8": (np.dstack([photo, alpha]), 6, 8),
        "rgba-16": (wide(np.dstack([photo, alpha])), 6, 16),
    }
    for name, (pixels, colour, depth) in plain.items():
        original = Image.fromarray((pixels >> 8).astype(np.uint8) if depth == 16 else pixels)
        data = png(pixels, colour, depth)
        # Pillow does not convert 16-bit grey with alpha.
        square = scene.centre(original.convert("RGBA")) if name == "grey-alpha-16" else None
        add(f"png/{name}.png", data, original, within=0.6, square=square)
    for name in ("rgb-8", "rgba-16", "grey-alpha-8"):
        pixels, colour, depth = plain[name]
        write(f"png/{name}-interlaced.png", png(pixels, colour, depth, "-interlace PNG"))

    colours = Image.fromarray(photo)
    for depth in (1, 2, 4, 8):
        quantized = colours.quantize(1 << depth, dither=Image.Dither.NONE)
        data = encoded(quantized, "png", bits=depth, optimize=True)
        assert data[24:26] == bytes([depth, 3])
        add(f"png/palette-{depth}.png", data, quantized.convert("RGB"), within=0)
    quantized = colours.quantize(16, dither=Image.Dither.NONE)
    interlaced = png(quantized.convert("RGB"), 3, 4, "-interlace PNG")
    add("png/palette-4-interlaced.png", interlaced, quantized.convert("RGB"), within=0)
    transparency(colours, grey, disc, quantized)

    # The gamma that old encoders wrote, visually the same as sRGB.
    plain = png(photo, 2, 8)
    add("png/gamma.png", with_chunk(plain, b"gAMA", struct.pack(">I", 45455)), colours)
    add("png/srgb.png", with_chunk(plain, b"sRGB", b"\0"), colours)
    for width, height in [(1, 1), (17, 13)]:
        small = colours.resize((width, height), Image.Resampling.BOX)
        add(f"png/{width}x{height}.png", png(small, 2, 8, "-interlace PNG"), small, within=0)


def transparency(photo, grey, disc, quantized):
    """The tRNS chunk: one transparent colour, or an alpha value for each palette entry."""
    rgba = photo.convert("RGBA")
    rgba.putalpha(Image.fromarray(disc.astype(np.uint8) * 255))

    # The transparent colour does not occur in the image.
    keyed = np.where(disc[..., None], np.asarray(photo), np.array([1, 2, 3], np.uint8))
    key = struct.pack(">3H", 1, 2, 3)
    add("png/rgb-8-key.png", with_chunk(png(keyed, 2, 8), b"tRNS", key), rgba, within=0)
    # A 16-bit colour next to it occurs: a decoder that compares 8 bits would make it transparent.
    wide = keyed.astype(np.uint16) << 8
    wide[40, 44] = (1 << 8 | 9, 2 << 8, 3 << 8)
    original = rgba.copy()
    original.putpixel((44, 40), (1, 2, 3, 255))
    data = with_chunk(png(wide, 2, 16), b"tRNS", struct.pack(">3H", 1 << 8, 2 << 8, 3 << 8))
    add("png/rgb-16-key.png", data, original, square=scene.centre(original))

    lit = np.where(disc, np.maximum(grey, 8), 3).astype(np.uint8)
    original = Image.fromarray(np.dstack([lit, disc * 255]).astype(np.uint8))
    add("png/grey-8-key.png", with_chunk(png(lit, 0, 8), b"tRNS", b"\0\3"), original, within=0)
    wide = lit.astype(np.uint16) << 8
    data = with_chunk(png(wide, 0, 16), b"tRNS", b"\3\0")
    add("png/grey-16-key.png", data, original, square=scene.centre(original.convert("RGBA")))
    steps = np.where(disc, np.maximum(grey // 64, 1), 0) * 85
    data = with_chunk(png(steps.astype(np.uint8), 0, 2), b"tRNS", b"\0\0")
    original = Image.fromarray(np.dstack([steps, disc * 255]).astype(np.uint8))
    add("png/grey-2-key.png", data, original, square=scene.centre(original.convert("RGBA")))

    palette_alpha = bytes(255 - 12 * index for index in range(16))
    data = encoded(quantized, "png", bits=4, transparency=palette_alpha)
    original = quantized.convert("RGBA")
    original.putalpha(quantized.point(list(palette_alpha) + [255] * 240, "L"))
    add("png/palette-4-translucent.png", data, original, within=0)
    one = encoded(quantized, "png", bits=4, transparency=b"\xff\xff\x00")
    original = quantized.convert("RGBA")
    original.putalpha(quantized.point([255, 255, 0] + [255] * 253, "L"))
    add("png/palette-4-hole.png", one, original, within=0)


def webps():
    photo = scene.photo()
    clear = photo.copy()
    clear.putalpha(scene.alpha())
    add("webp/lossy.webp", webp(photo, "-q 88"), photo)
    add("webp/lossless.webp", webp(photo, "-lossless -z 9"), photo, within=0)
    add("webp/lossy-alpha.webp", webp(clear, "-q 88"), clear)
    add("webp/lossless-alpha.webp", webp(clear, "-lossless -exact -z 9"), clear, within=0)
    quantized = photo.quantize(9, dither=Image.Dither.NONE).convert("RGB")
    add("webp/lossless-palette.webp", webp(quantized, "-lossless -z 9"), quantized, within=0)
    for width, height in [(1, 1), (17, 13), (97, 61)]:
        small = photo.resize((width, height), Image.Resampling.BOX)
        add(f"webp/{width}x{height}.webp", webp(small, "-q 88"), small, within=14)

    later = photo.transpose(Image.Transpose.ROTATE_180)
    frames = {"one.png": encoded(photo, "png"), "two.png": encoded(later, "png")}
    for name, kind in {"animated": "-lossy -q 88", "animated-lossless": "-lossless"}.items():
        data = tool(f"img2webp -loop 0 {kind} -d 90 {{one.png}} {{two.png}} -o {{out.webp}}", **frames)
        add(f"webp/{name}.webp", data, photo)


def gifs():
    photo = scene.photo()
    quantized = photo.quantize(32, dither=Image.Dither.NONE)
    rgb = quantized.convert("RGB")
    add("gif/plain.gif", encoded(quantized, "gif", interlace=0), rgb, within=0)
    add("gif/interlaced.gif", encoded(quantized, "gif", interlace=1), rgb, within=0)

    hole = np.where(scene.cut_out(), np.asarray(quantized), 32).astype(np.uint8)
    holed = Image.fromarray(hole, "P")
    holed.putpalette(quantized.getpalette()[:96] + [255, 0, 255])
    original = rgb.convert("RGBA")
    original.putalpha(Image.fromarray(scene.cut_out().astype(np.uint8) * 255))
    add("gif/transparent.gif", encoded(holed, "gif", transparency=32), original, within=0)

    later = quantized.transpose(Image.Transpose.ROTATE_180)
    data = encoded(quantized, "gif", save_all=True, append_images=[later], duration=90, loop=0)
    add("gif/animated.gif", data, rgb, within=0)

    # Pixels outside the first frame are transparent, as in browsers.
    small = quantized.crop((0, 0, 40, 30))
    convert = "/usr/bin/convert -size 96x64 {in.gif} -repage 96x64+30+20 {out.gif}"
    data = tool(convert, **{"in.gif": encoded(small, "gif")})
    original = Image.new("RGBA", (96, 64))
    original.paste(small.convert("RGB"), (30, 20))
    add("gif/small-frame.gif", data, original, square=scene.centre(original))


def avifs():
    photo = scene.photo()
    clear = photo.copy()
    clear.putalpha(scene.alpha())
    for name, image, options in [
        ("420", photo, "-y 420"),
        ("444", photo, "-y 444"),
        ("422", photo, "-y 422"),
        ("420-10-bit", photo, "-y 420 -d 10"),
        ("444-10-bit", photo, "-y 444 -d 10"),
        ("420-12-bit", photo, "-y 420 -d 12"),
        ("limited-range", photo, "-y 420 -r limited"),
        ("lossless", photo, "--lossless"),
        ("grey", scene.grey(), "-y 400"),
        ("alpha", clear, "-y 420 --minalpha 0 --maxalpha 0"),
        ("alpha-444-10-bit", clear, "-y 444 -d 10 --minalpha 0 --maxalpha 0"),
    ]:
        add(f"avif/{name}.avif", avif(image, options), image)
    odd = photo.resize((97, 61), Image.Resampling.BOX)
    add("avif/97x61.avif", avif(odd, "-y 420"), odd)
    # A grid of two tiles.
    tiles = photo.resize((128, 64), Image.Resampling.LANCZOS)
    add("avif/grid.avif", avif(tiles, "-y 420 -g 2x1"), tiles)
    for angle, stored in {1: STORED[8], 2: STORED[3], 3: STORED[6]}.items():
        add(f"avif/rotated-{angle * 90}.avif", avif(photo.transpose(stored), f"-y 420 --irot {angle}"), photo)
    later = photo.transpose(Image.Transpose.ROTATE_180)
    data = encoded(photo, "avif", save_all=True, append_images=[later], quality=80, max_threads=1)
    # Zero the creation and modification times of the three header boxes.
    for box in (b"mvhd", b"tkhd", b"mdhd"):
        at = data.index(box) + 8
        assert data[at - 4] == 1, "a box with 32-bit times"
        data = data[:at] + bytes(16) + data[at + 16 :]
    add("avif/animated.avif", data, photo)


def heics():
    photo = scene.photo()
    clear = photo.copy()
    clear.putalpha(scene.alpha())
    add("heic/420.heic", heic(photo), photo)
    add("heic/444.heic", heic(photo, chroma=444), photo)
    add("heic/alpha.heic", heic(clear), clear)
    add("heic/97x61.heic", heic(photo.resize((97, 61), Image.Resampling.BOX)), photo.resize((97, 61)))
    # 10 bits per sample, as newer phones store them.
    wide = np.asarray(photo).astype(np.uint16) * 257
    ten = pillow_heif.from_bytes("RGB;16", photo.size, wide.tobytes())
    file = io.BytesIO()
    pillow_heif.options.SAVE_HDR_TO_12_BIT = False
    ten.save(file, quality=88)
    add("heic/10-bit.heic", file.getvalue(), photo)
    for orientation in (3, 6, 8):
        exif = Image.Exif()
        exif[0x0112] = orientation
        data = heic(photo.transpose(STORED[orientation]), exif=exif.tobytes())
        add(f"heic/orientation-{orientation}.heic", data, photo)


def layers(image, *halves):
    """Encodes an image as spatial layers, the lower ones coarse, each with the whole or half the size."""
    pixels = np.asarray(image.convert("YCbCr"))
    half = (image.width // 2, image.height // 2)
    chroma = [Image.fromarray(pixels[..., plane]).resize(half, Image.Resampling.BOX) for plane in (1, 2)]
    yuv = pixels[..., 0].tobytes() + b"".join(plane.tobytes() for plane in chroma)
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/layers"
        subprocess.run(["gcc", "-o", program, HERE / "layers.c", "-laom"], check=True)
        arguments = [program, str(image.width), str(image.height), *(str(int(half)) for half in halves)]
        return subprocess.run(arguments, input=yuv, capture_output=True, check=True).stdout


def derived():
    """Crops, mirrorings, overlays, identity derivations and alpha of tiles, in AVIF and HEIC."""
    photo = scene.photo()
    clear = photo.copy()
    clear.putalpha(scene.alpha())
    avif_of = lambda image: avif(image, "-y 444 --minalpha 0 --maxalpha 0")
    heic_of = lambda image: heic(image, chroma=444)
    for extension, brand, encode in (("avif", b"avif", avif_of), ("heic", b"heic", heic_of)):
        coded = container.image(encode(photo))
        write_one = lambda *properties: container.write(brand, 1, [container.but(coded, properties)])
        save = lambda name, data, original: add(
            f"{extension}/{name}.{extension}", data, original, square=libheif(data)
        )
        # Only pillow-heif has a libheif that reads derived images as they are meant, and only as HEIC.
        save_derived = lambda name, data, original: add(
            f"{extension}/{name}.{extension}",
            data,
            original,
            square=scene.centre(original) if extension == "avif" else reference(data),
        )
        region = (50, 9, 83, 29)
        crop = container.crop(photo.size, region)
        save("crop", write_one(crop), photo.crop(region))
        original = photo.crop(region).transpose(STORED[8]).transpose(STORED[2])
        save("crop-rotate-mirror", write_one(crop, container.rotation(3), container.mirror(1)), original)
        turned = photo.transpose(STORED[6]).transpose(STORED[2])
        region = (7, 31, 41, 89)
        crop = container.crop(turned.size, region)
        data = write_one(container.rotation(1), container.mirror(1), crop)
        save("rotate-mirror-crop", data, turned.crop(region))

        # A crop of the input, a rotation of the derived image.
        region = (10, 3, 90, 61)
        items = [
            container.identity(2, 80, 58, [container.rotation(2)]),
            container.but(coded, [container.crop(photo.size, region)]),
        ]
        original = photo.crop(region).transpose(STORED[3])
        save_derived("identity", container.write(brand, 1, items), original)

        # Two layers, one with alpha and rotated, partly outside of the canvas.
        items, primary = container.read(encode(clear))
        alpha = next(item for number, item in items.items() if number != primary)
        alpha = container.but({**alpha, "references": [(b"auxl", [3])]}, [container.rotation(1)])
        veil = container.but({**items[primary], "references": []}, [container.rotation(1)])
        place = [(4, 6), (60, -20)]
        data = container.write(
            brand, 1, [container.overlay(110, 80, (200, 30, 90, 255), [2, 3], place), coded, veil, alpha]
        )
        canvas = Image.new("RGBA", (110, 80), (200, 30, 90))
        canvas.paste(photo, place[0])
        turned = Image.new("RGBA", (110, 80))
        turned.paste(clear.transpose(STORED[6]), place[1])
        save_derived("overlay", data, Image.alpha_composite(canvas, turned))

        # A grid whose alpha belongs to its tiles.
        tiles = []
        for left in (0, 64):
            items, primary = container.read(encode(clear.resize((128, 64)).crop((left, 0, left + 64, 64))))
            alpha = next(item for number, item in items.items() if number != primary)
            tiles += [{**items[primary], "references": []}, {**alpha, "references": [(b"auxl", [2 + len(tiles)])]}]
        data = container.write(brand, 1, [container.grid(2, 1, 128, 64, [2, 4]), *tiles])
        save_derived("grid-tile-alpha", data, clear.resize((128, 64)))


def layered():
    photo = scene.photo()
    obus = layers(photo, True, False, False)
    config = next(prop for prop in container.image(avif(photo, "-y 420"))["properties"] if b"av1C" in prop[0])
    coded = lambda *properties: container.item(b"av01", [config, *properties], obus)
    whole = container.size(*photo.size)
    save = lambda name, item, **how: add(
        f"avif/{name}.avif", container.write(b"avif", 1, [item]), photo, **how
    )
    save("layered", coded(whole))
    save("layer-1", coded(whole, container.layer(1)), within=20)
    save("operating-point", coded(whole, container.operating_point(1)), within=20)
    add(
        "avif/layer-0.avif",
        container.write(b"avif", 1, [coded(container.size(48, 32), container.layer(0))]),
        photo.resize((48, 32)),
        within=20,
    )


def gain_map():
    """An SDR photo with a gain map, which the alternative of a tone-mapped image uses."""
    photo = scene.photo()
    base = container.image(avif(photo, "-y 420"))
    gains = container.image(avif(scene.grey().resize((48, 32)), "-y 400"))
    tone_mapped = container.item(
        b"tmap", [container.size(*photo.size)], bytes(62), [(b"dimg", [2, 3])]
    )
    groups = container.full_box(b"altr", struct.pack(">4I", 9, 2, 1, 2))
    data = container.write(b"avif", 2, [tone_mapped, base, gains], groups)
    add("avif/gain-map.avif", data, photo)


def coded_colours():
    """Matrix coefficients, ranges, depths and subsamplings."""
    photo = scene.photo()
    clear = photo.copy()
    clear.putalpha(scene.alpha())
    for name, options in {
        "bt709": "-y 420 --nclx 1/13/1",
        "bt2020-limited-10-bit": "-y 444 -d 10 -r limited --nclx 1/13/9",
        "ycgco": "-y 444 --nclx 1/13/8",
    }.items():
        add(f"avif/{name}.avif", avif(photo, options), photo)
    add("avif/premultiplied.avif", avif(clear, "-y 444 -p --minalpha 0 --maxalpha 0"), clear)
    exif = Image.Exif()
    exif[0x0112] = 6
    # The offset of the TIFF header, after the signature.
    exif = container.item(b"Exif", data=struct.pack(">I", 6) + exif.tobytes(), references=[(b"cdsc", [1])])
    data = container.write(b"avif", 1, [container.image(avif(photo, "-y 420")), exif])
    add("avif/exif-orientation.avif", data, photo, square=libheif(data))

    add("heic/422.heic", heic(photo, chroma=422), photo)
    add("heic/grey.heic", heic(scene.grey()), scene.grey())
    pillow_heif.options.SAVE_HDR_TO_12_BIT = True
    wide = np.asarray(photo).astype(np.uint16) * 257
    deep = io.BytesIO()
    pillow_heif.from_bytes("RGB;16", photo.size, wide.tobytes()).save(deep, quality=88)
    add("heic/12-bit.heic", deep.getvalue(), photo)
    limited = heic(photo, chroma=444, matrix_coefficients=1, full_range_flag=0)
    add("heic/bt709-limited.heic", limited, photo)


def hdrs():
    """PQ and HLG, which other decoders do not convert: the reference is the tone-mapped drawing."""
    original = Image.fromarray(hdr.sdr())
    square = lambda: scene.centre(original)
    for name, transfer, code in (("pq", hdr.pq, 16), ("hlg", hdr.hlg, 18)):
        wide = png(hdr.signal(transfer), 2, 16)
        command = f"avifenc -j 1 -s 4 --min 8 --max 12 -y 444 -d 10 --nclx 9/{code}/9 {{in.png}} {{out.avif}}"
        add(f"hdr/{name}.avif", tool(command, **{"in.png": wide}), original, square=square())
        if name == "pq":
            coded = with_chunk(wide, b"cICP", bytes([9, code, 0, 1]))
            add(f"hdr/{name}.png", coded, original, square=square())
        pillow_heif.options.SAVE_HDR_TO_12_BIT = False
        file = io.BytesIO()
        pixels = hdr.signal(transfer)
        image = pillow_heif.from_bytes("RGB;16", (pixels.shape[1], pixels.shape[0]), pixels.tobytes())
        image.save(
            file,
            quality=95,
            chroma=444,
            color_primaries=9,
            transfer_characteristics=code,
            matrix_coefficients=9,
            full_range_flag=1,
        )
        add(f"hdr/{name}.heic", file.getvalue(), original, square=square())


def orientations():
    photo = scene.photo()
    for orientation, stored in STORED.items():
        stored = photo.transpose(stored) if stored is not None else photo
        sampling = "-sample 2x2" if orientation % 2 else "-sample 1x1"
        data = oriented(jpeg(stored, sampling), "jpg", orientation)
        add(f"orientation/{orientation}.jpg", data, photo)
        if orientation in (2, 5, 6, 8):
            # Lossless, so all share the reference of png/rgb-8.png.
            write(f"orientation/{orientation}.png", oriented(png(stored, 2, 8), "png", orientation))
            data = oriented(webp(stored, "-lossless -z 9"), "webp", orientation)
            write(f"orientation/{orientation}.webp", data)
            for extension in ("png", "webp"):
                decoded = reference((HERE / f"orientation/{orientation}.{extension}").read_bytes())
                assert (on_white(decoded) == on_white(scene.centre(photo))).all(), orientation
    # As phones write it: little-endian, with a thumbnail that has its own orientation.
    thumbnail = oriented(jpeg(photo.resize((24, 16))), "jpg", 3)
    data = jpeg(photo.transpose(STORED[6]), "-sample 2x2")
    tags = "-ExifByteOrder=II -Orientation=6 -Make=Pinhole -GPSLatitude=47.3769"
    command = f"exiftool -q -n -overwrite_original {tags}"
    data = tool(
        f"{command} -ThumbnailImage<={{small}} {{photo.jpg}}", **{"photo.jpg": data, "small": thumbnail}
    )
    add("orientation/phone.jpg", data, photo)


def profiles():
    chart = Image.fromarray(scene.chart())

    # In gamut: sRGB colours converted to the other colour space, so the reference is the original.
    def numbers(profile):
        profile = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        return ImageCms.profileToProfile(chart, SRGB, profile, outputMode="RGB")

    p3, adobe, wide, swapped = numbers(P3), icc.adobe_rgb(), icc.prophoto(), icc.swapped()
    tagged = lambda image, profile, **how: jpeg_profile(jpeg(image, quality=95), profile, **how)
    add("profiles/none.jpg", jpeg(chart, quality=95), chart)
    add("profiles/p3.jpg", tagged(p3, P3), chart)
    add("profiles/p3-420.jpg", jpeg_profile(jpeg(p3, "-sample 2x2", quality=95), P3), chart)
    add("profiles/p3-in-segments.jpg", tagged(p3, P3, segments=3), chart)
    add("profiles/p3.png", png_profile(png(p3, 2, 8), P3), chart)
    file = {"in.webp": webp(p3, "-lossless -z 9"), "p3.icc": P3}
    add("profiles/p3.webp", tool("webpmux -set icc {p3.icc} {in.webp} -o {out.webp}", **file), chart)
    file = {"in.webp": webp(p3, "-q 95"), "p3.icc": P3}
    add("profiles/p3-lossy.webp", tool("webpmux -set icc {p3.icc} {in.webp} -o {out.webp}", **file), chart)
    clear = np.dstack([np.asarray(p3), np.full((64, 96), 200, np.uint8)])
    veiled = chart.copy()
    veiled.putalpha(200)
    add("profiles/p3-alpha.png", png_profile(png(clear, 6, 8), P3), veiled)
    stored = tagged(p3.transpose(STORED[6]), P3)
    add("profiles/p3-rotated.jpg", oriented(stored, "jpg", 6), chart)
    add("profiles/adobe-rgb.jpg", tagged(numbers(adobe), adobe), chart)
    add("profiles/adobe-rgb.png", png_profile(png(numbers(adobe), 2, 8), adobe), chart)
    add("profiles/prophoto.jpg", tagged(numbers(wide), wide), chart)
    deep = np.asarray(numbers(wide)).astype(np.uint16) * 257
    add("profiles/prophoto-16.png", png_profile(png(deep, 2, 16), wide), chart)
    add("profiles/swapped.jpg", tagged(numbers(swapped), swapped), chart)
    add("profiles/swapped.png", png_profile(png(numbers(swapped), 2, 8), swapped), chart)
    quantized = numbers(swapped).quantize(32, dither=Image.Dither.NONE)
    add("profiles/swapped-palette.png", png_profile(encoded(quantized, "png"), swapped), chart)
    # A lookup table profile without a matrix, as for scanners. The result differs from the chart on purpose.
    table = icc.rgb_table()
    add("profiles/table.jpg", tagged(chart, table), chart, within=60)
    # Maximum saturation, out of the sRGB gamut: clipped.
    saturated = [(r, g, b) for r in (0, 128, 255) for g in (0, 128, 255) for b in (0, 255)][:16]
    saturated = Image.fromarray(scene.chart(saturated))
    add("profiles/p3-max-saturation.png", png_profile(png(saturated, 2, 8), P3), saturated, within=30)
    # The cICP chunk declares Display P3 in four bytes.
    add("profiles/p3-cicp.png", with_chunk(png(p3, 2, 8), b"cICP", bytes([12, 13, 0, 1])), chart, profile=P3)

    greys = np.asarray(chart.convert("L"))
    for name, exponent in {"grey-22": 2.2, "grey-10": 1.0}.items():
        profile = icc.grey(exponent)
        add(f"profiles/{name}.png", png_profile(png(greys, 0, 8), profile), chart.convert("L"), within=80)
    profile = icc.grey(2.2)
    data = jpeg_profile(jpeg(chart.convert("L"), "-grayscale", quality=95), profile)
    add("profiles/grey-22.jpg", data, chart.convert("L"))

    # Unusable profiles: the values are rgb as sRGB.
    for name, profile in {
        "truncated": P3[:200],
        "cmyk-on-rgb": icc.cmyk(),
        "grey-on-rgb": icc.grey(1.0),
        "text": b"no profile",
    }.items():
        add(f"profiles/{name}.jpg", tagged(chart, profile), chart, profile=b"")
    add("profiles/rgb-on-grey.png", png_profile(png(greys, 0, 8), P3), chart.convert("L"), profile=b"")

    inks = [(c, m, y, k) for c in (0, 200) for m in (0, 200) for y in (0, 200) for k in (0, 110)]
    inks = Image.fromarray(scene.chart(inks), "CMYK")
    cmyk = icc.cmyk()
    data = encoded(inks, "jpeg", quality=95, subsampling=0)
    add("profiles/cmyk-none.jpg", data, inks.convert("RGB"))
    add("profiles/cmyk.jpg", jpeg_profile(data, cmyk), inks.convert("RGB"), within=60)
    add("profiles/ycck.jpg", jpeg_profile(ycck(inks, 95), cmyk), inks.convert("RGB"), within=60)

    profile = icc.grey(2.2)
    data = avif(chart.convert("L"), "-y 400 --icc {grey}", grey=profile)
    # Pillow reads a monochrome AVIF as RGB, which the profile is not for.
    square = reference(png_profile(png(greys, 0, 8), profile))
    add("profiles/grey-22.avif", data, chart.convert("L"), square=square)
    add("profiles/p3.avif", avif(p3, "-y 444 --icc {p3}", p3=P3), chart)
    add("profiles/p3-nclx.avif", avif(p3, "-y 444 --nclx 12/13/6"), chart, profile=P3)
    add("profiles/p3.heic", heic(p3, icc_profile=P3), chart)


def damaged():
    """Slightly damaged files that viewers show without an error."""
    read = lambda path: (HERE / path).read_bytes()
    baseline, progressive = read("jpeg/baseline.jpg"), read("jpeg/progressive.jpg")
    png, webp, gif = read("png/rgb-8.png"), read("webp/lossy.webp"), read("gif/plain.gif")
    trailing = b"\0\0\0\x18ftypmp42 \xff\xda\xff\xd8 and whatever else a phone appends"
    note = with_chunk(png, b"tEXt", b"Comment\0none")
    at = note.index(b"none") + 4
    for name, data in {
        "no-end-marker.jpg": baseline[:-2],
        "half-end-marker.jpg": baseline[:-1],
        "no-end-marker-progressive.jpg": progressive[:-2],
        "trailing.jpg": baseline + trailing,
        "second-image.jpg": baseline + read("jpeg/1x1.jpg"),
        "zeros-before-end.jpg": baseline[:-2] + bytes(40) + baseline[-2:],
        "fill-before-end.jpg": baseline[:-2] + b"\xff" * 9 + baseline[-2:],
        "fill-between-segments.jpg": baseline[:2] + b"\xff" * 5 + baseline[2:],
        "no-end-marker.png": png[:-12],
        "half-end-marker.png": png[:-6],
        "trailing.png": png + trailing,
        "wrong-checksum-of-text.png": note[:at] + b"\0\0\0\0" + note[at + 4 :],
        "trailing.webp": webp + trailing,
        "no-end-marker.gif": gif[:-1],
        "trailing.gif": gif + trailing,
        "trailing.avif": read("avif/420.avif") + trailing,
    }.items():
        write(f"damaged/{name}", data)


def unreadable():
    write("unreadable/empty", b"")
    write("unreadable/text", b"Dear service, this is a photo. Believe me.\n")
    write("unreadable/page", b"<!doctype html><title>404</title><p>Not found\n")
    for path in (
        "jpeg/baseline.jpg",
        "jpeg/progressive.jpg",
        "jpeg/separate-scans.jpg",
        "png/rgb-8.png",
        "png/rgb-8-interlaced.png",
        "webp/lossy.webp",
        "webp/lossless.webp",
        "webp/lossy-alpha.webp",
        "webp/animated.webp",
        "gif/plain.gif",
        "gif/animated.gif",
        "avif/420.avif",
        "heic/420.heic",
    ):
        data = (HERE / path).read_bytes()
        kind, name = path.split("/")
        stem, extension = name.split(".")
        # An animation must be truncated within its first frame.
        share = 4 if stem == "animated" else 2
        write(f"unreadable/{kind}-{stem}-half.{extension}", data[: len(data) // share])
        if stem in ("baseline", "rgb-8", "lossy", "plain", "420"):
            write(f"unreadable/{kind}-header.{extension}", data[:32])


def resizing():
    """Reference images of libvips with the same filter."""
    detail = encoded(scene.detail(), "png", optimize=True)
    write("resize/detail.png", detail)
    for side in (200, 100, 37):
        command = f"vips resize {{in.png}} {{out.png}}[strip] {side / 512!r} --kernel lanczos3"
        data = tool(command, **{"in.png": detail})
        assert Image.open(io.BytesIO(data)).size == (side, side)
        write(f"resize/detail-{side}.png", data)


if __name__ == "__main__":
    for generate in (
        jpegs,
        pngs,
        webps,
        gifs,
        avifs,
        heics,
        derived,
        layered,
        gain_map,
        coded_colours,
        hdrs,
        orientations,
        profiles,
        damaged,
        unreadable,
        resizing,
    ):
        generate()
        print(generate.__name__)
