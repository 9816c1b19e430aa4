"""HDR drawings, and how they look in sRGB: the curve of ITU-R BT.2390 from the peak of the drawing to reference white.

The brightest component of Display P3 decides how much a pixel is compressed.
"""

import numpy as np

import scene

WHITE, PEAK = 203.0, 1000.0
TO_BT_2020 = np.array([[0.6274, 0.3293, 0.0433], [0.0691, 0.9195, 0.0114], [0.0164, 0.0880, 0.8956]])
TO_DISPLAY_P3 = np.array([[0.8225, 0.1774, 0.0], [0.0332, 0.9669, 0.0], [0.0171, 0.0724, 0.9108]])
LUMINANCE = np.array([0.2627, 0.6780, 0.0593])


def light():
    """The photo in linear BT.709 and cd/m²; from left to right the light is up to five times as bright."""
    values = np.asarray(scene.photo()).astype(float) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    gain = np.linspace(1, 5, linear.shape[1])[None, :, None]
    return np.minimum(linear * gain * WHITE, PEAK)


def pq(light):
    power = (light / 10000) ** (2610 / 16384)
    return ((3424 / 4096 + 2413 / 128 * power) / (1 + 2392 / 128 * power)) ** (2523 / 32)


def pq_light(value):
    root = value ** (32 / 2523)
    power = np.maximum(root - 3424 / 4096, 0) / (2413 / 128 - 2392 / 128 * root)
    return 10000 * power ** (16384 / 2610)


def hlg(light):
    """Display light to the HLG signal of a display of 1000 cd/m²."""
    display = light / PEAK
    luminance = (display @ LUMINANCE)[..., None]
    scene_light = display * np.maximum(luminance, 1e-9) ** (1 / 1.2 - 1)
    a, b, c = 0.17883277, 0.28466892, 0.55991073
    logarithm = a * np.log(np.maximum(12 * scene_light - b, 1e-9)) + c
    return np.where(scene_light <= 1 / 12, np.sqrt(3 * scene_light), logarithm)


def signal(transfer):
    """The drawing in BT.2020 with 16 bits."""
    values = transfer(np.maximum(light() @ TO_BT_2020.T, 0))
    return (values.clip(0, 1) * 65535).round().astype(np.uint16)


def sdr():
    """The drawing in sRGB."""
    linear = light()
    brightest = (linear @ TO_DISPLAY_P3.T).max(-1, keepdims=True)
    value, top = pq(brightest) / pq(PEAK), pq(WHITE) / pq(PEAK)
    knee = 1.5 * top - 0.5
    t = np.maximum(value - knee, 0) / (1 - knee)
    spline = (2 * t**3 - 3 * t**2 + 1) * knee + (t**3 - 2 * t**2 + t) * (1 - knee) + (3 * t**2 - 2 * t**3) * top
    compressed = np.where(value <= knee, brightest, pq_light(spline * pq(PEAK)))
    mapped = linear / np.maximum(brightest, 1e-9) * compressed / WHITE
    encoded = np.where(mapped <= 0.0031308, 12.92 * mapped, 1.055 * mapped ** (1 / 2.4) - 0.055)
    return (encoded.clip(0, 1) * 255).round().astype(np.uint8)
