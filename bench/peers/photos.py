"""Makes the photos of the benchmark out of wallpapers: photos.py WALLPAPERS FOLDER

Every picture is what a phone would have sent: 4:3, JPEG of quality 91 with halved colour, with Exif.
"""

import sys
from pathlib import Path

import pillow_heif
from PIL import Image, ImageFilter, ImageOps

# Different on purpose: foliage, bark with a blurred background, backlight, a sunset, mountains, a brook.
PHOTOS = {
    "dragonfly": "Dragonfly_by_Bolly.jpg",
    "nuthatch": "Kleiber_by_Lukas_Baubkus.jpg",
    "dandelion": "seeding_by_Clements_Engelhardt.jpg",
    "sunset": "sunset_by_Aitzol_Berasategi.jpg",
    "mountains": "picosdeeuropa_by_Aitzol_Berasategi.jpg",
    "brook": "life_by_Aitzol_Berasategi.jpg",
}
PHONE = (4032, 3024)


def phone(path: Path, size: tuple[int, int] = PHONE) -> Image.Image:
    """The middle of a wallpaper at a phone's size, as crisp as a phone makes it where it had to grow."""
    picture = Image.open(path).convert("RGB")
    grown = max(size[0] / picture.width, size[1] / picture.height)
    picture = ImageOps.fit(picture, size, Image.Resampling.LANCZOS)
    return picture.filter(ImageFilter.UnsharpMask(radius=1.2 * grown, percent=80, threshold=2)) if grown > 1 else picture


def mosaic(pictures: list[Image.Image], size: tuple[int, int], columns: int) -> Image.Image:
    """A large photo out of different ones side by side, each at its own sharpness."""
    rows = -(-size[1] * columns // size[0])
    tile = (-(-size[0] // columns), -(-size[1] // rows))
    whole = Image.new("RGB", size)
    for place in range(columns * rows):
        picture = ImageOps.fit(pictures[place % len(pictures)], tile, Image.Resampling.LANCZOS)
        whole.paste(picture, (place % columns * tile[0], place // columns * tile[1]))
    return whole


def jpeg(picture: Image.Image, path: Path) -> None:
    exif = Image.Exif()
    exif[0x010F], exif[0x0110], exif[0x0112] = "Pinhole", "Benchmark", 1
    picture.save(path, quality=91, subsampling="4:2:0", exif=exif)


def main(wallpapers: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pictures = [phone(wallpapers / name) for name in PHOTOS.values()]
    for name, picture in zip(PHOTOS, pictures):
        jpeg(picture, folder / f"{name}.jpg")

    first = pictures[0]
    jpeg(first.resize((1152, 864), Image.Resampling.LANCZOS), folder / "1mp.jpg")
    jpeg(mosaic(pictures, (5712, 4284), 2), folder / "24mp.jpg")
    jpeg(mosaic(pictures, (9216, 6912), 3), folder / "64mp.jpg")
    mosaic(pictures, (5184, 3888), 2).save(folder / "20mp.png")
    first.save(folder / "12mp.webp", quality=88)
    first.save(folder / "12mp.avif", quality=80, speed=8)
    pillow_heif.register_heif_opener()
    first.save(folder / "12mp.heic", quality=75)


main(Path(sys.argv[1]), Path(sys.argv[2]))
