"""Pillow, which has one thread anyway.

    pillow.py IN OUT SIDE QUALITY   makes one square and ends
    pillow.py                       answers one line of JSON with another until its input ends
"""

import io
import json
import sys
import time

from PIL import Image, ImageOps

LANCZOS = Image.Resampling.LANCZOS


def upright(file):
    return ImageOps.exif_transpose(Image.open(file))


def square(file, side):
    picture = Image.open(file)
    # As `Image.thumbnail` does it: shrink while decoding, but leave a factor of two to the good filter.
    picture.draft("RGB", (2 * side, 2 * side))
    return ImageOps.fit(ImageOps.exif_transpose(picture), (side, side), LANCZOS)


def encoded(picture, quality):
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=quality, subsampling="4:2:0")
    return file.tell()


def masters(job):
    """Squares and whole pictures from one decode, each from the next larger."""
    size, photo = 0, upright(job["file"])
    for sides, resize in ((job["sides"], ImageOps.fit), (job["fits"], ImageOps.contain)):
        picture = photo
        for side in sides:
            picture = resize(picture, (side, side), LANCZOS)
            size += encoded(picture, job["quality"])
    return size


def reference(job):
    """The centre square from all pixels by a plain Lanczos filter, as raw RGB.

    With a `cut` of 0 or 1 the whole picture is resized first and cut at a whole pixel then, half a pixel to
    the left or to the right: that is where libvips and ImageMagick find the centre.
    """
    picture = upright(job["file"]).convert("RGB")
    side, cut = job["side"] or min(picture.size), job.get("cut")
    if cut is None:
        square = ImageOps.fit(picture, (side, side), LANCZOS)
    else:
        whole = picture.resize([round(length * side / min(picture.size)) for length in picture.size], LANCZOS)
        left, top = [(length - side + cut) // 2 for length in whole.size]
        square = whole.crop((left, top, left + side, top + side))
    with open(job["out"], "wb") as file:
        return file.write(square.tobytes())


WORK = {
    "square": lambda job: encoded(square(job["file"], job["side"]), job["quality"]),
    "masters": masters,
    "reference": reference,
    "version": lambda job: 0,
}


def answer(line):
    try:
        job = json.loads(line)
        before = time.process_time_ns()
        size = WORK[job["do"]](job)
        cpu = (time.process_time_ns() - before) / 1000
        return {"cpu_us": cpu, "bytes": size, "version": versions()}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def versions():
    import PIL
    import pillow_heif
    from PIL import features

    codec = features.version("libjpeg_turbo")
    return f"{PIL.__version__} (libjpeg-turbo {codec}), pillow-heif {pillow_heif.__version__}"


def main():
    if len(sys.argv) > 1:
        file, out, side, quality = sys.argv[1:]
        square(file, int(side)).save(out, "JPEG", quality=int(quality), subsampling="4:2:0")
        return
    import pillow_heif

    pillow_heif.register_heif_opener()
    for line in sys.stdin:
        print(json.dumps(answer(line)), flush=True)


main()
