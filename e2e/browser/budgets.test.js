// What the pages may weigh, and what Lighthouse has to say about them.

import assert from "node:assert/strict";
import http from "node:http";
import { after, before, test } from "node:test";

import { CATEGORIES, verdict } from "./lib/lighthouse.js";
import { scene } from "./lib/scene.js";
import { Service } from "./lib/service.js";
import { visit } from "./lib/visit.js";
import { pages } from "./pages.js";

/** All scripts and styles of all pages together, as they travel. */
const BUDGET = 30 * 1024;

/** @type {Service} */ let service;
/** @type {import("./lib/scene.js").Scene} */ let full;

before(async () => {
  service = await Service.start();
  full = await scene(service.base);
});
after(() => service.end());

test("all scripts and styles together travel in 30 KB", async (t) => {
  /** @type {Map<string, number>} */
  const files = new Map();
  for (const entry of pages.filter(({ empty }) => !empty)) {
    await visit(entry, full, {}, async (page) => {
      const urls = await page.evaluate(() => [
        ...performance.getEntriesByType("resource").map(({ name }) => name),
        ...(navigator.serviceWorker?.controller ? [navigator.serviceWorker.controller.scriptURL] : []),
      ]);
      for (const url of urls) {
        const known = files.get(url);
        if (known === undefined) files.set(url, await weight(url));
      }
    });
  }
  const counted = [...files].filter(([, bytes]) => bytes > 0);
  const total = counted.reduce((sum, [, bytes]) => sum + bytes, 0);
  for (const [url, bytes] of counted) t.diagnostic(`${String(bytes).padStart(6)}  ${new URL(url).pathname}`);
  t.diagnostic(`${String(total).padStart(6)}  of ${BUDGET} bytes`);
  assert.ok(counted.length, "no page has any script or style: then this measures nothing");
  assert.ok(total < BUDGET, `${total} bytes are more than ${BUDGET}`);
});

for (const entry of pages.filter(({ lighthouse }) => lighthouse)) {
  test(`Lighthouse finds nothing to say about ${entry.name}`, { timeout: 120_000 }, async (t) => {
    const { scores, complaints } = await verdict(full.base + (await entry.path(full)));
    t.diagnostic(CATEGORIES.map((name) => `${name} ${Math.round(100 * scores[name])}`).join(", "));
    // How fast a page is here says more about what else this machine does; it is told, not judged.
    const { performance, ...judged } = scores;
    const heard = complaints.filter((line) => !line.startsWith("performance/"));
    assert.deepEqual(judged, { accessibility: 1, "best-practices": 1, seo: 1 }, heard.join("\n"));
  });
}

/** Bytes of a script's or a style's body as a browser gets it, 0 for everything else. @param {string} url @returns {Promise<number>} */
function weight(url) {
  return new Promise((resolve, reject) => {
    http.get(url, { headers: { "accept-encoding": "gzip" } }, (answer) => {
      let bytes = 0;
      answer.on("data", (chunk) => (bytes += chunk.length));
      answer.on("end", () => resolve(/javascript|css/.test(answer.headers["content-type"] ?? "") ? bytes : 0));
      answer.on("error", reject);
    }).on("error", reject);
  });
}
