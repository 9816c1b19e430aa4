"""Posts every image of a folder to a running service, and compares what it serves with other decoders.

    python3 survey.py http://127.0.0.1:8080 FOLDER

Start the service with `--rate-limits off --avif off`. Prints a line for each image that is refused although another
decoder reads it, or that differs by more than ten levels from all of them, and the counts. Images below 128 pixels and
copies are left out.
"""

import collections
import hashlib
import io
import multiprocessing
import pathlib
import re
import resource
import secrets
import subprocess
import sys
import tempfile

import numpy as np
import pillow_heif
import requests
from PIL import Image, ImageCms, ImageOps

MIN_SIDE, SIDE, MAX_DIFFERENCE, TIMEOUT = 128, 256, 10, 180
SUFFIXES = {".avif", ".gif", ".heic", ".heif", ".hif", ".jpeg", ".jpg", ".png", ".webp"}
SRGB = ImageCms.createProfile("sRGB")

# Damaged files declare any size.
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
Image.MAX_IMAGE_PIXELS = 32_000_000


def flat(image):
    """8-bit sRGB on white."""
    profile = image.info.get("icc_profile")
    if image.mode.startswith("I"):
        image = Image.fromarray((np.asarray(image) / 257).clip(0, 255).astype("uint8"))
    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image).convert("RGB")
    elif image.mode not in ("L", "CMYK"):
        image = image.convert("RGB")
    if profile:
        try:
            profile = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            image = ImageCms.profileToProfile(image, profile, SRGB, outputMode="RGB")
        except (ImageCms.PyCMSError, OSError):
            pass
    return image.convert("RGB")


def pillow(path):
    image = Image.open(path, formats=["AVIF", "GIF", "JPEG", "PNG", "WEBP"])
    image.load()
    # HEIF has transforms of its own.
    return flat(image if image.format == "AVIF" else ImageOps.exif_transpose(image))


def libheif(path):
    return flat(pillow_heif.open_heif(path).to_pillow())


def heif_convert(path):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["heif-convert", path, f"{folder}/image.png"], capture_output=True, timeout=60, check=True)
        return flat(Image.open(min(pathlib.Path(folder).iterdir())))


def references(path):
    images, is_heif = [], path.read_bytes()[4:8] == b"ftyp"
    for decode in [pillow] + [libheif, heif_convert] * is_heif:
        try:
            image = decode(path)
        except Exception:  # Every decoder has errors of its own.
            continue
        if min(image.size) >= MIN_SIDE:
            images.append(image)
    return images


def is_managed(file):
    """Whether the references show the colours: they ignore the code points of HDR and of wide gamuts."""
    code_points = [match.group(1) for match in re.finditer(rb"colrnclx(.{4})", file, re.DOTALL)]
    return all(colours[1] in (1, 2) and colours[3] not in (8, 16, 18) for colours in code_points)


def difference(served, reference):
    if abs(served.width * reference.height - served.height * reference.width) > 2 * max(reference.size):
        return float("inf")
    reference = reference.resize(served.size, Image.LANCZOS)
    return np.abs(np.asarray(served, int) - np.asarray(reference, int)).mean()


def main(base, folder):
    # Decoders leak memory, and crash.
    decoders = multiprocessing.Pool(1, maxtasksperchild=20)
    session, counts, seen = requests.Session(), collections.Counter(), set()
    account = {"username": f"survey-{secrets.token_hex(4)}", "password": secrets.token_hex(8)}
    joined = session.post(f"{base}/join/username", data=account)
    joined.raise_for_status()
    session.headers["Authorization"] = f"Bearer {joined.headers['X-Auth-Token']}"
    session.cookies.clear()

    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.suffix.lower() not in SUFFIXES or not path.is_file():
            continue
        file = path.read_bytes()
        digest = hashlib.sha256(file).digest()
        try:
            images = [] if digest in seen else decoders.apply_async(references, (path,)).get(TIMEOUT)
        except multiprocessing.TimeoutError:
            # Of a crash, too: the pool starts another process.
            print("not decoded by others", path)
            images = []
        seen.add(digest)
        if not images:
            continue
        counts["read by other decoders"] += 1
        response = session.post(f"{base}/posts", files={"photo": file})
        if response.status_code != 201:
            counts["refused"] += 1
            print("refused", path, response.json()["error"]["message"])
            continue
        post = response.json()
        photo = session.get(f"{base}/photos/{post['photo']['id']}/fit/{SIDE}", headers={"Accept": "image/jpeg"})
        photo.raise_for_status()
        served = Image.open(io.BytesIO(photo.content)).convert("RGB")
        session.delete(f"{base}/posts/{post['id']}").raise_for_status()
        if not is_managed(file):
            counts["read, not comparable"] += 1
        elif (least := min(difference(served, image) for image in images)) > MAX_DIFFERENCE:
            counts["different"] += 1
            print(f"different by {least:.1f}", path)
    for name, count in counts.items():
        print(f"{count:6} {name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
