// The harness itself: what it promises to catch, it catches.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Person, feed } from "./lib/api.js";
import { assertAccessible } from "./lib/axe.js";
import { open, slow } from "./lib/browser.js";
import { eventually } from "./lib/eventually.js";
import { assertFits, shifts } from "./lib/layout.js";
import { photo } from "./lib/photos.js";
import { Service } from "./lib/service.js";
import { story } from "./lib/story.js";
import { announce, assertQuiet } from "./lib/watch.js";

const POLICY = "default-src 'self'; script-src 'self' 'nonce-ours'; img-src 'self' http://elsewhere.example data:";

/** Ways to misbehave, and what is said about each. */
/** @type {Record<string, [string, RegExp]>} */
const FAULTS = {
  "a message on the console": ["<script nonce=ours>console.error('oh dear')</script>", /console: oh dear/],
  "an exception": ["<script nonce=ours>throw new Error('thrown')</script>", /uncaught: Error: thrown/],
  "a promise nobody looks after": ["<script nonce=ours>Promise.reject(new Error('left alone'))</script>", /uncaught: Error: left alone/],
  "a script in the page": ["<script>document.title = 'injected'</script>", /console: .*Content Security Policy/],
  "a style in the page": ["<p style='color: red'>red</p>", /console: .*Content Security Policy/],
  "a picture that is not there": ["<img alt='' src='/nowhere.png'>", /console: .*status of 404/],
  "a picture from elsewhere": ["<img alt='' src='http://elsewhere.example/spy.gif'>", /foreign: GET http:\/\/elsewhere\.example/],
};

for (const [what, [body, pattern]] of Object.entries(FAULTS)) {
  story(`${what} is noticed`, async ({ open }) => {
    const page = await open({ worker: false });
    await page.route("**/fault", (route) => route.fulfill({ contentType: "text/html", headers: { "content-security-policy": POLICY }, body: `<!doctype html><title>Fault</title>${body}` }));
    await page.goto("/fault");
    const surprises = await eventually("somebody says something", () => {
      try {
        assertQuiet(page);
      } catch (error) {
        return /** @type {assert.AssertionError} */ (error).actual;
      }
    });
    assert.match(JSON.stringify(surprises), pattern);
    // Announced, it is fine.
    announce(page, pattern);
    announce(page, /console|failed|foreign|uncaught/);
  });
}

story("an announcement that does not come true is noticed", async ({ service }) => {
  const page = await open(service.base);
  await page.goto("/");
  assertQuiet(page);
  announce(page, /never/);
  assert.throws(() => assertQuiet(page), /did not happen/);
  await page.context().close();
});

story("a page that nobody could use is noticed", async ({ open }) => {
  const page = await open();
  await page.setContent("<!doctype html><html><body><img src='data:,'><div style='width: 3000px'>wide</div></body></html>");
  await assert.rejects(assertAccessible(page), /image-alt[^]*document-title|document-title[^]*image-alt/);
  await assert.rejects(assertFits(page), /3000|<div/);
});

story("photos are what they say, always the same, and the service takes them", async ({ service, join }) => {
  const jpeg = await photo(0);
  assert.equal(jpeg.subarray(0, 3).toString("hex"), "ffd8ff");
  assert.deepEqual(await photo(0), jpeg);
  assert.notDeepEqual(await photo(3), jpeg);
  const png = await photo(1, { type: "png", size: [64, 64] });
  assert.equal(png.subarray(1, 4).toString(), "PNG");
  const ada = await join("ada");
  await ada.post(jpeg, { message: "one" });
  await ada.post(png, { message: "two" });
  assert.deepEqual((await feed(service.base)).map((post) => post.message), ["two", "one"]);
});

story("a slow wire is slow until it is let go", async ({ open }) => {
  const page = await open({ worker: false });
  await page.goto("/");
  const upload = () => page.evaluate(async () => {
    const begin = performance.now();
    await fetch("/login/username", { method: "POST", headers: { "content-type": "application/x-www-form-urlencoded" }, body: "a".repeat(100_000) });
    return performance.now() - begin;
  });
  announce(page, /status of 400/);
  const letGo = await slow(page, { up: 50_000, down: 1_000_000, latency: 0 });
  const long = await upload();
  await letGo();
  const short = await upload();
  assert.ok(long > 1000, `100 KB at 50 KB/s took ${long} ms`);
  assert.ok(short < long / 2, `${short} ms is as slow as ${long}`);
});

story("a session from the API is one in the browser", async ({ open, join }) => {
  const page = await open({ as: await join("ada") });
  const answer = await page.goto("/me");
  assert.equal((await answer?.json()).username, "ada");
});

test("a service that went away comes back at the same place, with everything in it", async () => {
  const service = await Service.start();
  const { base } = service;
  const ada = await Person.join(base, "ada");
  await ada.post(await photo(0), { message: "still here" });
  await service.down();
  await assert.rejects(fetch(base));
  await service.up();
  assert.equal(service.base, base);
  assert.equal((await feed(base))[0].message, "still here");
  await service.end();
  await assert.rejects(fetch(base));
});

test("an error in the service's log fails the story", async () => {
  const service = await Service.start();
  service.log.push('{"level":"ERROR","message":"made up"}');
  await assert.rejects(service.end(), /logged errors/);
});

story("what moves by itself is noticed", async ({ open }) => {
  const page = await open({ worker: false });
  const moved = await shifts(page);
  await page.route("**/moving", (route) => route.fulfill({ contentType: "text/html", body: "<!doctype html><title>Moving</title><p id=first></p><p style='height: 600px; background: tan'>a large part of the page</p>" }));
  await page.goto("/moving");
  assert.equal((await moved()).score, 0);
  await eventually("it is counted", async () => {
    await page.evaluate(() => {
      const first = /** @type {HTMLElement} */ (document.getElementById("first"));
      first.style.height = `${first.offsetHeight + 50}px`;
    });
    return (await moved()).score > 0.02;
  });
});
