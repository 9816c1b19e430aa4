# Generates the test files of this folder with Pillow 13.0 (libavif) and pillow-heif 1.8.1 (libheif, x265).
import pillow_heif
from PIL import Image

ramp = Image.linear_gradient("L").resize((64, 48))
image = Image.merge("RGB", [ramp, ramp.rotate(180), ramp])

exif = Image.Exif()
exif[0x010E] = "SECRET description"
exif.get_ifd(0x8825)[1] = "N"
exif.get_ifd(0x8825)[2] = (52.0, 30.0, 0.0)
exif.get_ifd(0x8769)[0x927C] = b"SECRET maker note"
metadata = {"exif": exif.tobytes(), "xmp": b"<x:xmpmeta>SECRET</x:xmpmeta>"}

image.save("still.avif", quality=40, **metadata)
image.save("sequence.avif", quality=40, save_all=True, append_images=[image.rotate(180)], **metadata)
still = pillow_heif.from_pillow(image)
still.info.update(metadata)
still.save("thumbnail.heic", quality=40, thumbnails=[32])
