// A thumbhash (a photo's first few waves, in some 25 bytes) as a tiny picture.

const SIDE = 8;

/**
 * @param {string} base64
 * @returns {string} a data URL
 */
export function haze(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = SIDE;
  const context = canvas.getContext("2d");
  if (!context || bytes.length < 5) return "";
  const image = context.createImageData(SIDE, SIDE);
  image.data.set(pixels(bytes));
  context.putImageData(image, 0, 0);
  return canvas.toDataURL();
}

/** @param {Uint8Array} hash */
function pixels(hash) {
  const colour = hash[0] | (hash[1] << 8) | (hash[2] << 16);
  const shape = hash[3] | (hash[4] << 8);
  const clear = colour >> 23;
  const wide = shape >> 15;
  const long = clear ? 5 : 7;
  const short = Math.max(3, shape & 7);
  let nibble = (clear ? 6 : 5) * 2;
  const next = () => {
    const byte = hash[nibble >> 1] ?? 0x88;
    return ((nibble++ & 1 ? byte >> 4 : byte & 15) / 7.5) - 1;
  };
  /** @type {(nx: number, ny: number, mean: number, scale: number) => Channel} */
  const channel = (nx, ny, mean, scale) => {
    const waves = [];
    for (let y = 0; y < ny; y++) {
      for (let x = y ? 0 : 1; x * ny < nx * (ny - y); x++) waves.push({ x, y, size: next() * scale });
    }
    return { mean, waves };
  };
  const unit = (/** @type {number} */ at) => ((colour >> at) & 63);
  const lightness = channel(wide ? long : short, wide ? short : long, unit(0) / 63, ((colour >> 18) & 31) / 31);
  const yellow = channel(3, 3, unit(6) / 31.5 - 1, (((shape >> 3) & 63) / 63) * 1.25);
  const red = channel(3, 3, unit(12) / 31.5 - 1, (((shape >> 9) & 63) / 63) * 1.25);
  const alpha = clear ? channel(5, 5, (hash[5] & 15) / 15, (hash[5] >> 4) / 15) : { mean: 1, waves: [] };

  const data = new Uint8ClampedArray(SIDE * SIDE * 4);
  for (let y = 0; y < SIDE; y++) {
    for (let x = 0; x < SIDE; x++) {
      const [l, p, q, a] = [lightness, yellow, red, alpha].map((c) => at(c, x, y));
      const b = l - (2 / 3) * p;
      const r = (3 * l - b + q) / 2;
      data.set([r, r - q, b, a].map((value) => value * 255), (y * SIDE + x) * 4);
    }
  }
  return data;
}

/**
 * @typedef {{ mean: number, waves: { x: number, y: number, size: number }[] }} Channel
 * @param {Channel} channel
 * @param {number} x
 * @param {number} y
 */
function at({ mean, waves }, x, y) {
  const cosine = (/** @type {number} */ place, /** @type {number} */ turns) => Math.cos((Math.PI / SIDE) * (place + 0.5) * turns);
  return waves.reduce((sum, wave) => sum + 2 * wave.size * cosine(x, wave.x) * cosine(y, wave.y), mean);
}
