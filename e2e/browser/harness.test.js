// Tests of the test harness: it detects every kind of error.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ApiUser, feed } from "./lib/api.js";
import { assertAccessible } from "./lib/axe.js";
import { browserTest } from "./lib/browser-test.js";
import { open, throttle } from "./lib/browser.js";
import { eventually } from "./lib/eventually.js";
import { assertFits, trackLayoutShifts } from "./lib/layout.js";
import { assertMarkup } from "./lib/markup.js";
import { assertNoErrors, expectError } from "./lib/page-errors.js";
import { photo } from "./lib/photos.js";
import { Service } from "./lib/service.js";

const POLICY = "default-src 'self'; script-src 'self' 'nonce-ours'; img-src 'self' http://elsewhere.example data:";

/** By name: markup with a fault, and the error that is recorded. @type {Record<string, [string, RegExp]>} */
const FAULTS = {
  "a console error": ["<script nonce=ours>console.error('oh dear')</script>", /console: oh dear/],
  "an uncaught exception": ["<script nonce=ours>throw new Error('thrown')</script>", /uncaught: Error: thrown/],
  "an unhandled rejection": ["<script nonce=ours>Promise.reject(new Error('left alone'))</script>", /uncaught: Error: left alone/],
  "an inline script": ["<script>document.title = 'injected'</script>", /console: .*Content Security Policy/],
  "an inline style": ["<p style='color: red'>red</p>", /console: .*Content Security Policy/],
  "a missing image": ["<img alt='' src='/nowhere.png'>", /console: .*status of 404/],
  "an image of another origin": ["<img alt='' src='http://elsewhere.example/spy.gif'>", /foreign: GET http:\/\/elsewhere\.example/],
};

for (const [name, [body, pattern]] of Object.entries(FAULTS)) {
  browserTest(`${name} is detected`, async ({ open }) => {
    const page = await open({ serviceWorker: false });
    await page.route("**/fault", (route) => route.fulfill({ contentType: "text/html", headers: { "content-security-policy": POLICY }, body: `<!doctype html><title>Fault</title>${body}` }));
    await page.goto("/fault");
    const unexpected = await eventually("an error is recorded", () => {
      try {
        assertNoErrors(page);
      } catch (error) {
        return /** @type {assert.AssertionError} */ (error).actual;
      }
    });
    assert.match(JSON.stringify(unexpected), pattern);
    // An expected error does not fail the test.
    expectError(page, pattern);
    expectError(page, /console|failed|foreign|uncaught/);
  });
}

browserTest("an expected error that does not occur is detected", async ({ service }) => {
  const page = await open(service.base);
  await page.goto("/");
  assertNoErrors(page);
  expectError(page, /never/);
  assert.throws(() => assertNoErrors(page), /did not occur/);
  await page.context().close();
});

browserTest("accessibility violations and horizontal overflow are detected", async ({ open }) => {
  const page = await open();
  await page.setContent("<!doctype html><html><body><img src='data:,'><div style='width: 3000px'>wide</div></body></html>");
  await assert.rejects(assertAccessible(page), /image-alt[^]*document-title|document-title[^]*image-alt/);
  await assert.rejects(assertFits(page), /3000|<div/);
});

browserTest("repeated ids, icons and labels that lead nowhere, and fields without a label are detected", async ({ open }) => {
  const page = await open();
  const cases = /** @type {const} */ ([
    ["<svg><symbol id=link></symbol></svg><label for=link>Link</label><input id=link>", /several elements have the id link/],
    ["<svg><use href='#link'/></svg>", /refers to nothing/],
    ["<input placeholder=Name>", /has no label/],
    ["<label><textarea>written</textarea></label>", /has no label/],
    ["<template><input placeholder=Name></template>", /has no label/],
    ["<label>Both<input><input></label>", /has no label|shares its label/],
    ["<label for=nothing>Name</label>", /has no field/],
  ]);
  for (const [body, fault] of cases) {
    await page.setContent(`<!doctype html><title>Fault</title>${body}`);
    await assert.rejects(assertMarkup(page), fault, body);
  }
  await page.setContent("<!doctype html><dialog open style='position: fixed; margin: 0; top: 90vh; height: 20vh'>low</dialog>");
  await assert.rejects(assertFits(page), /does not fit the window/);
});

browserTest("generated photos have their format, are deterministic, and are accepted by the service", async ({ service, join }) => {
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

browserTest("throttling slows an upload until it ends", async ({ open }) => {
  const page = await open({ serviceWorker: false });
  await page.goto("/");
  const upload = () => page.evaluate(async () => {
    const begin = performance.now();
    await fetch("/login/username", { method: "POST", headers: { "content-type": "application/x-www-form-urlencoded" }, body: "a".repeat(100_000) });
    return performance.now() - begin;
  });
  expectError(page, /status of 400/);
  const unthrottle = await throttle(page, { up: 50_000, down: 1_000_000, latency: 0 });
  const throttled = await upload();
  await unthrottle();
  const unthrottled = await upload();
  assert.ok(throttled > 1000, `expected more than 1 s for 100 KB at 50 KB/s, got ${throttled} ms`);
  assert.ok(unthrottled < throttled / 2, `expected less than half of ${throttled} ms, got ${unthrottled} ms`);
});

browserTest("a session created by the API works in the browser", async ({ open, join }) => {
  const page = await open({ as: await join("ada") });
  const response = await page.goto("/me");
  assert.equal((await response?.json()).username, "ada");
});

test("a restarted service has the same address and data", async () => {
  const service = await Service.start();
  const { base } = service;
  const ada = await ApiUser.join(base, "ada");
  await ada.post(await photo(0), { message: "still here" });
  await service.stop();
  await assert.rejects(fetch(base));
  await service.launch();
  assert.equal(service.base, base);
  assert.equal((await feed(base))[0].message, "still here");
  await service.dispose();
  await assert.rejects(fetch(base));
});

test("an error in the service's log fails the test", async () => {
  const service = await Service.start();
  service.log.push('{"level":"ERROR","message":"made up"}');
  await assert.rejects(service.dispose(), /logged errors/);
});

browserTest("layout shifts are detected", async ({ open }) => {
  const page = await open({ serviceWorker: false });
  const layoutShifts = await trackLayoutShifts(page);
  await page.route("**/moving", (route) => route.fulfill({ contentType: "text/html", body: "<!doctype html><title>Moving</title><p id=first></p><p style='height: 600px; background: tan'>a large part of the page</p>" }));
  await page.goto("/moving");
  assert.equal((await layoutShifts()).score, 0);
  await eventually("the shift is counted", async () => {
    await page.evaluate(() => {
      const first = /** @type {HTMLElement} */ (document.getElementById("first"));
      first.style.height = `${first.offsetHeight + 50}px`;
    });
    return (await layoutShifts()).score > 0.02;
  });
});
