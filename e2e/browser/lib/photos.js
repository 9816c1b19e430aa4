// Test photos: landscapes that Chromium draws and encodes. The same number always gives the same photo.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { browser } from "./browser.js";
import { photoCache } from "./paths.js";

/** Part of the cache key: a change of this file invalidates the cached photos. */
const version = createHash("sha256").update(readFileSync(fileURLToPath(import.meta.url))).digest("hex").slice(0, 12);

/** Landscape, portrait orientation and square. */
const SIZES = [[1200, 900], [900, 1200], [1000, 1000]];

/**
 * @param {number} number the seed of the drawing
 * @param {{ type?: "jpeg" | "png", size?: number[], noise?: number }} [options] noise makes the file larger
 * @returns {Promise<Buffer>}
 */
export async function photo(number, { type = "jpeg", size = SIZES[number % SIZES.length], noise = 0 } = {}) {
  const file = path.join(photoCache, `${version}-${number}-${size.join("x")}-${noise}.${type}`);
  if (existsSync(file)) return readFileSync(file);
  const page = await (await browser()).newPage();
  try {
    const bytes = Buffer.from(await page.evaluate(draw, { number, type, size, noise }), "base64");
    mkdirSync(photoCache, { recursive: true });
    // Written and renamed, because suites run in parallel and must not read a partial file.
    writeFileSync(`${file}.${process.pid}`, bytes);
    renameSync(`${file}.${process.pid}`, file);
    return bytes;
  } finally {
    await page.close();
  }
}

/** @param {number} count @param {Parameters<typeof photo>[1]} [options] */
export function photos(count, options) {
  return Promise.all(Array.from({ length: count }, (_, number) => photo(number, options)));
}

/** For `setInputFiles`. @param {number} number @param {Parameters<typeof photo>[1]} [options] */
export async function file(number, options = {}) {
  const type = options.type ?? "jpeg";
  return { name: `photo-${number}.${type}`, mimeType: `image/${type}`, buffer: await photo(number, options) };
}

/** Runs in the browser: draws sky, sun or moon, stars, hills, and the number in a corner. */
async function draw(/** @type {{ number: number, type: string, size: number[], noise: number }} */ { number, type, size: [width, height], noise }) {
  let state = (number + 1) * 2654435761;
  const random = () => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 374761393) | 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  // Colours by time of day: zenith, horizon, and the hue of the hills.
  const palettes = [
    { above: "#31588f", horizon: "#fbc9a2", hue: 205 },
    { above: "#4f9bd9", horizon: "#dff0f7", hue: 140 },
    { above: "#d8673f", horizon: "#fde3a7", hue: 350 },
    { above: "#0b1330", horizon: "#3c4f86", hue: 230 },
    { above: "#7fb3c8", horizon: "#f4efe2", hue: 85 },
    { above: "#6a4c93", horizon: "#f7b5a0", hue: 270 },
    { above: "#a9b4bd", horizon: "#eceeee", hue: 190 },
  ];
  const { above, horizon, hue } = palettes[number % palettes.length];
  const night = number % palettes.length === 3;

  const sky = pen.createLinearGradient(0, 0, 0, height * 0.7);
  sky.addColorStop(0, above);
  sky.addColorStop(1, horizon);
  pen.fillStyle = sky;
  pen.fillRect(0, 0, width, height);

  if (night) {
    pen.fillStyle = "white";
    for (let star = 0; star < 120; star++) pen.fillRect(random() * width, (random() * height) / 2, 1 + random() * 2, 1 + random() * 2);
  }
  pen.beginPath();
  pen.arc(width * (0.2 + 0.6 * random()), height * (0.2 + 0.2 * random()), Math.min(width, height) * 0.08, 0, 2 * Math.PI);
  pen.fillStyle = night ? "#fdf6d8" : "#fff4d6";
  pen.fill();

  for (let hill = 0; hill < 5; hill++) {
    const base = height * (0.5 + hill * 0.11);
    const waves = [1, 2, 5].map((wave) => ({ wave: wave + 2 * random(), turn: 7 * random(), rise: (height * 0.06) / wave }));
    pen.beginPath();
    pen.moveTo(0, height);
    for (let x = 0; x <= width; x += 4) {
      pen.lineTo(x, base - waves.reduce((sum, { wave, turn, rise }) => sum + rise * Math.sin((wave * 4 * x) / width + turn), 0));
    }
    pen.lineTo(width, height);
    pen.fillStyle = `hsl(${hue + hill * 6} ${18 + hill * 6}% ${(night ? 26 : 66) - hill * (night ? 4 : 11)}%)`;
    pen.fill();
  }
  for (let grain = 0; grain < noise * 1000; grain++) {
    pen.fillStyle = `hsl(${360 * random()} 60% 50%)`;
    pen.fillRect(random() * width, random() * height, 2, 2);
  }
  pen.fillStyle = "rgb(255 255 255 / .8)";
  pen.font = `600 ${Math.round(height / 16)}px sans-serif`;
  pen.fillText(String(number), width * 0.04, height * 0.95);

  const blob = /** @type {Blob} */ (await new Promise((/** @type {(blob: Blob | null) => void} */ done) => canvas.toBlob(done, `image/${type}`, 0.88)));
  const bytes = new Uint8Array(await blob.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  return btoa(text);
}
