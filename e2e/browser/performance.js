// How fast the pages are for a phone on a slow network, and how much they load: `cargo run --release -p bench -- pages`.
// Reported, not asserted: the scores depend on the machine. The pages are those of `pinhole demo`, with AVIF.

import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";

import { chromium as playwright } from "playwright-core";

import { CHROMIUM_FLAGS, DEVICES } from "./lib/browser.js";
import { audit } from "./lib/lighthouse.js";
import { chromium } from "./lib/paths.js";
import { Service } from "./lib/service.js";

const ROUNDS = 5;
/** Points of the median. */
const TARGET = 95;
/** Of the first load of the feed, in bytes. */
const TARGET_BYTES = 200_000;
/** Avatars are never AVIF. */
const MIN_AVIF_SIDE = 200;
/** For encoding the AVIFs of all pages, which is done while the service is idle. */
const MAX_LOADS = 60;

const service = await Service.demo();
const browser = await playwright.launch({ executablePath: chromium(), args: CHROMIUM_FLAGS });
try {
  const { data } = await (await fetch(`${service.base}/feed?limit=1`)).json();
  const paths = [["feed", "/"], ["grid", "/?view=grid"], ["post", `/p/${data[0].id}`], ["profile", "/@ada"], ["join", "/join"], ["about", "/about"]];
  const pages = paths.map(([name, path]) => ({
    name,
    url: service.base + path,
    /** @type {number[]} */ scores: [],
    /** @type {Map<string, number>} */ bytes: new Map(),
  }));
  for (const page of pages) page.bytes = await loadWithAvif(page.url);
  await browser.close();
  for (let round = 0; round < ROUNDS; round++) {
    for (const { url, scores } of pages) scores.push(Math.round(100 * (await audit(url)).scores.performance));
  }
  const mark = (/** @type {boolean} */ met) => (met ? "✔ met" : "✘ missed");

  console.log(`\n| page | performance, median of ${ROUNDS} | from–to | target ${TARGET} |\n|---|---:|---:|---|`);
  for (const { name, scores } of pages) {
    const sorted = scores.toSorted((one, other) => one - other);
    const median = sorted[Math.floor(sorted.length / 2)];
    console.log(`| ${name} | ${median} | ${sorted[0]}–${sorted.at(-1)} | ${mark(median >= TARGET)} |`);
  }
  const { width } = DEVICES.phone.viewport;
  console.log(`\n| first load, ${width} pixels at twice the density | KB | of it | feed: at most ${TARGET_BYTES / 1000} |\n|---|---:|---|---|`);
  for (const { name, bytes } of pages) {
    const total = [...bytes.values()].reduce((sum, size) => sum + size, 0);
    const parts = [...bytes].sort(([, one], [, other]) => other - one).map(([type, size]) => `${type} ${kilobytes(size)}`);
    console.log(`| ${name} | ${kilobytes(total)} | ${parts.join(", ")} | ${name === "feed" ? mark(total <= TARGET_BYTES) : ""} |`);
  }
} finally {
  await browser.close();
  await service.dispose();
}

/** The bytes of each media type that a first visitor loads, once the large images are AVIF. @param {string} url */
async function loadWithAvif(url) {
  for (let load = 0; load < MAX_LOADS; load++) {
    const { bytes, isReady } = await firstLoad(url);
    if (isReady) return bytes;
    await setTimeout(1000);
  }
  assert.fail(`${url} has images that are not AVIF after ${MAX_LOADS} loads`);
}

/** @param {string} url */
async function firstLoad(url) {
  const context = await browser.newContext(DEVICES.phone);
  try {
    const page = await context.newPage();
    const network = await context.newCDPSession(page);
    /** @type {Map<string, string>} */
    const types = new Map();
    /** @type {Map<string, number>} */
    const bytes = new Map();
    let isReady = true;
    network.on("Network.responseReceived", ({ requestId, response: { url, mimeType } }) => {
      if (!url.startsWith("http")) return;
      types.set(requestId, mimeType.replace(/^(image|text|font|application)\//, ""));
      const side = Number(/^\/photos\/.*\/(\d+)(x\d+)?$/.exec(new URL(url).pathname)?.[1] ?? 0);
      if (side >= MIN_AVIF_SIDE && mimeType !== "image/avif") isReady = false;
    });
    network.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
      const type = types.get(requestId);
      if (type) bytes.set(type, (bytes.get(type) ?? 0) + encodedDataLength);
    });
    await network.send("Network.enable");
    await page.goto(url, { waitUntil: "networkidle" });
    return { bytes, isReady };
  } finally {
    await context.close();
  }
}

/** @param {number} bytes */
function kilobytes(bytes) {
  return (bytes / 1000).toFixed(1);
}
