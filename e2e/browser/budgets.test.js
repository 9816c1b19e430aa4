// Size budget of scripts and styles, and Lighthouse scores.

import assert from "node:assert/strict";
import http from "node:http";
import { after, before, test } from "node:test";

import { CATEGORIES, audit } from "./lib/lighthouse.js";
import { seed } from "./lib/seed.js";
import { Service } from "./lib/service.js";
import { withPage } from "./lib/with-page.js";
import { pages } from "./pages.js";

/**
 * For all scripts and styles of all pages that members and guests open, gzipped: not the page of moderation, and
 * not the translated messages.
 */
const BUDGET_BYTES = 45_000;

/** @type {Service} */ let service;
/** @type {import("./lib/seed.js").SeedData} */ let data;

before(async () => {
  service = await Service.start();
  data = await seed(service);
});
after(() => service.dispose());

test("the scripts and styles of members stay below 45 KB gzipped", async (t) => {
  /** @type {Map<string, number>} */
  const files = new Map();
  for (const entry of pages.filter(({ empty, name }) => !empty && name !== "admin")) {
    await withPage(entry, data, {}, async (page) => {
      const urls = await page.evaluate(() => [
        ...performance.getEntriesByType("resource").map(({ name }) => name),
        ...(navigator.serviceWorker?.controller ? [navigator.serviceWorker.controller.scriptURL] : []),
      ]);
      for (const url of urls) {
        if (!files.has(url) && !/\/messages\.\w+\.js$/.test(url)) files.set(url, await transferSize(url));
      }
    });
  }
  const counted = [...files].filter(([, bytes]) => bytes > 0);
  const total = counted.reduce((sum, [, bytes]) => sum + bytes, 0);
  for (const [url, bytes] of counted) t.diagnostic(`${String(bytes).padStart(6)}  ${new URL(url).pathname}`);
  t.diagnostic(`${String(total).padStart(6)}  of ${BUDGET_BYTES} bytes`);
  assert.ok(counted.length, "expected at least one script or style");
  assert.ok(total < BUDGET_BYTES, `expected less than ${BUDGET_BYTES} bytes, got ${total}`);
});

for (const entry of pages.filter(({ lighthouse }) => lighthouse)) {
  test(`Lighthouse scores ${entry.name} 100 for accessibility, best practices and SEO`, { timeout: 120_000 }, async (t) => {
    const { scores, failures } = await audit(data.base + (await entry.path(data)));
    t.diagnostic(CATEGORIES.map((name) => `${name} ${Math.round(100 * scores[name])}`).join(", "));
    // The performance score depends on the machine's load, so it is reported but not asserted.
    const { performance, ...asserted } = scores;
    const reasons = failures.filter((line) => !line.startsWith("performance/"));
    assert.deepEqual(asserted, { accessibility: 1, "best-practices": 1, seo: 1 }, reasons.join("\n"));
  });
}

/** The gzipped size of a script or style, else 0. @param {string} url @returns {Promise<number>} */
function transferSize(url) {
  return new Promise((resolve, reject) => {
    http.get(url, { headers: { "accept-encoding": "gzip" } }, (response) => {
      let bytes = 0;
      response.on("data", (chunk) => (bytes += chunk.length));
      response.on("end", () => resolve(/javascript|css/.test(response.headers["content-type"] ?? "") ? bytes : 0));
      response.on("error", reject);
    }).on("error", reject);
  });
}
