// Opens a page of the page table and checks that it is the expected one.

import assert from "node:assert/strict";

import { close, open } from "./browser.js";
import { assertNoErrors, expectError } from "./page-errors.js";
import { screenshotFailure, waitUntilStable } from "./screenshot.js";

/**
 * @param {import("../pages.js").PageEntry} entry
 * @param {import("./seed.js").SeedData} data
 * @param {import("./browser.js").PageOptions} options
 * @param {(page: import("playwright-core").Page) => Promise<void>} check
 */
export async function withPage(entry, data, options, check) {
  const page = await open(data.base, { ...options, as: entry.as && data[entry.as] });
  try {
    const status = entry.status ?? 200;
    if (status >= 400) expectError(page, new RegExp(`status of ${status}`));
    const response = await page.goto(await entry.path(data));
    assert.equal(response?.status(), status);
    assert.match(response?.headers()["content-type"] ?? "", /^text\/html/);
    await entry.shows(page).waitFor();
    await waitUntilStable(page);
    await check(page);
    assertNoErrors(page);
  } catch (error) {
    await screenshotFailure(page, `failed--${entry.name}--${options.device}-${options.scheme ?? "light"}`);
    throw error;
  } finally {
    await close(page);
  }
}
