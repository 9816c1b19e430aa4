// Opens a page of the table and makes sure that it is the one.

import assert from "node:assert/strict";

import { open } from "./browser.js";
import { keep, settle } from "./look.js";
import { announce, assertQuiet } from "./watch.js";

/**
 * @param {import("../pages.js").Entry} entry
 * @param {import("./scene.js").Scene} scene
 * @param {import("./browser.js").Way} way
 * @param {(page: import("playwright-core").Page) => Promise<void>} look
 */
export async function visit(entry, scene, way, look) {
  const page = await open(scene.base, { ...way, as: entry.as && scene[entry.as] });
  try {
    const status = entry.status ?? 200;
    if (status >= 400) announce(page, new RegExp(`status of ${status}`));
    const answer = await page.goto(await entry.path(scene));
    assert.equal(answer?.status(), status);
    assert.match(answer?.headers()["content-type"] ?? "", /^text\/html/);
    await entry.shows(page).waitFor();
    await settle(page);
    await look(page);
    assertQuiet(page);
  } catch (error) {
    await keep(page, `failed--${entry.name}--${way.device}-${way.scheme ?? "light"}`);
    throw error;
  } finally {
    await page.context().close();
  }
}
