"""The drawings of the corpus, and the centre crop used for comparison."""

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

WIDTH, HEIGHT = 96, 64
SUPERSAMPLING = 8

# sRGB values of natural colours (skin, leaves, sky, brick), then primaries and greys.
COLOURS = [
    (116, 82, 68),
    (196, 150, 130),
    (96, 122, 158),
    (88, 108, 66),
    (132, 128, 178),
    (104, 188, 172),
    (216, 126, 44),
    (72, 92, 168),
    (192, 84, 98),
    (94, 60, 108),
    (160, 186, 64),
    (226, 162, 46),
    (236, 236, 234),
    (160, 160, 160),
    (92, 92, 92),
    (40, 40, 42),
]


def photo(width=WIDTH, height=HEIGHT):
    """A landscape with a building and text: smooth, detailed, and different in every orientation."""
    w, h = width * SUPERSAMPLING, height * SUPERSAMPLING
    y, x = np.mgrid[0:h, 0:w]
    u, v = x / w, y / h
    sky = np.stack([70 + 150 * v, 120 + 90 * v, 215 - 60 * v + 20 * u], -1)
    near, far = 0.72 + 0.08 * np.sin(5 * u + 1), 0.55 + 0.10 * np.sin(7 * u)
    hills = np.stack([60 + 60 * u, 110 + 40 * v, 70 + 20 * u], -1)
    meadow = np.stack([120 + 60 * v + 20 * np.sin(40 * u), 140 + 30 * u, 60 + 0 * u], -1)
    pixels = np.where((v > far)[..., None], hills, sky)
    pixels = np.where((v > near)[..., None], meadow, pixels)
    image = Image.fromarray(pixels.clip(0, 255).astype(np.uint8))

    draw = ImageDraw.Draw(image)
    at = lambda *points: [(px * w, py * h) for px, py in points]
    sun = 0.09 * h
    draw.ellipse((0.68 * w - sun, 0.22 * h - sun, 0.68 * w + sun, 0.22 * h + sun), fill=(250, 225, 130))
    draw.rectangle(at((0.28, 0.52), (0.44, 0.80)), fill=(170, 62, 50))
    draw.polygon(at((0.25, 0.54), (0.36, 0.38), (0.47, 0.54)), fill=(84, 50, 58))
    draw.rectangle(at((0.31, 0.60), (0.35, 0.68)), fill=(235, 220, 170))
    font = ImageFont.load_default(0.16 * h)
    draw.text((0.52 * w, 0.68 * h), "Pinhole", fill=(245, 240, 232), font=font)
    draw.text((0.24 * w, 0.08 * h), "f/192", fill=(40, 52, 84), font=font)
    # Blurred like a photo at full size: chroma of single pixels would not survive 4:2:0 subsampling.
    image = image.filter(ImageFilter.GaussianBlur(SUPERSAMPLING))
    return image.resize((width, height), Image.Resampling.BOX)


def grey():
    return photo().convert("L")


def alpha():
    """Opaque in the middle, fading to the right, transparent in one corner."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    fade = np.clip((84 - x) * 6 + y, 0, 255)
    corner = (x - 20) + y < 16
    return Image.fromarray(np.where(corner, 0, fade).astype(np.uint8))


def cut_out():
    """A binary mask: a disc, off the centre."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    return np.hypot(x - 44, y - 36) < 27


def chart(colours=COLOURS):
    """Four by four flat patches of 16 pixels in the centre square, for colour measurements."""
    side = HEIGHT // 4
    left = (WIDTH - HEIGHT) // 2
    bands = len(colours[0])
    pixels = np.full((HEIGHT, WIDTH, bands), 120, np.uint8)
    for index, colour in enumerate(colours):
        row, column = index // 4 * side, left + index % 4 * side
        pixels[row : row + side, column : column + side] = colour
    return pixels[..., 0] if bands == 1 else pixels


def detail(side=512):
    """A zone plate, lines, text and a photo, in which a bad filter causes aliasing."""
    y, x = np.mgrid[0:side, 0:side] / side
    radius = np.hypot(x - 0.5, y - 0.5)
    rings = 128 + 110 * np.cos(np.pi * side / 6 * radius**2)
    # Few grey levels keep the file small.
    rings = (rings / 8).round() * 8
    image = Image.fromarray(rings.clip(0, 255).astype(np.uint8)).convert("RGB")
    image.paste(photo(side // 2, side // 4), (0, side * 3 // 4))

    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(side / 20)
    draw.rectangle((side * 0.55, side * 0.76, side, side), fill=(244, 242, 236))
    for line, text in enumerate(["The quick brown", "fox jumps over", "the lazy dog 0123"]):
        draw.text((side * 0.57, side * (0.78 + 0.07 * line)), text, fill=(30, 30, 40), font=font)
    for step in range(24):
        draw.line((step * 9, 0, step * 4, side * 0.16), fill=(200, 40, 50), width=1 + step % 3)
    return image


def centre(image):
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    return image.crop((left, top, left + side, top + side))
