// The pictures of the README, taken from the demo: `scripts/browser --pictures` writes them to `docs/pictures`.
// Look at them, and keep LICENSES.md beside them true.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";

import { ApiUser } from "./lib/api.js";
import { close, open } from "./lib/browser.js";
import { composer, posts } from "./lib/locators.js";
import { root } from "./lib/paths.js";
import { waitUntilStable } from "./lib/screenshot.js";
import { Service } from "./lib/service.js";

const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1024, height: 640 };

const service = await Service.demo();
try {
  const ada = await ApiUser.login(service.base, "ada", "pinhole-demo");
  const found = /** @type {{ data: { id: number, message?: string }[] }} */ (await ada.call("GET", "/feed?limit=100", 200)).data;
  const butterfly = found.find(({ message }) => message?.startsWith("Quieta"));
  assert.ok(butterfly, "the demo has the post of the butterfly");

  await picture("feed", PHONE, { device: "phone", as: ada }, "/");
  await picture("first-visit", DESKTOP, {}, "/");
  await picture("post", DESKTOP, { as: ada, scheme: "dark" }, `/p/${butterfly.id}`);
  await picture("composer", PHONE, { device: "phone", as: ada }, "/new", async (page) => {
    await composer(page).files.setInputFiles(path.join(root, "demo/photos/jetty.jpg"));
    await composer(page).messages.fill("Four hundred steps from the sand to the last bungalow.");
    await page.mouse.move(0, 0);
  });
} finally {
  await service.dispose();
}
process.exit();

/**
 * @param {string} name
 * @param {{ width: number, height: number }} size
 * @param {import("./lib/browser.js").PageOptions} options
 * @param {string} address
 * @param {(page: import("playwright-core").Page) => Promise<void>} [prepare]
 */
async function picture(name, size, options, address, prepare) {
  const page = await open(service.base, { serviceWorker: false, ...options });
  await page.setViewportSize(size);
  await page.goto(address);
  if (prepare) await prepare(page);
  else await posts(page).first().waitFor();
  await waitUntilStable(page);
  const session = await page.context().newCDPSession(page);
  // Playwright writes no WebP.
  const clip = { x: 0, y: 0, ...size, scale: 1 };
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 82, clip });
  writeFileSync(path.join(root, "docs/pictures", `${name}.webp`), Buffer.from(data, "base64"));
  await close(page);
}
