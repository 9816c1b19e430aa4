// A browser test: a service of its own, and pages whose errors fail the test.

import test from "node:test";

import { ApiUser } from "./api.js";
import { close, open } from "./browser.js";
import { PollTimeout, within } from "./eventually.js";
import { assertNoErrors } from "./page-errors.js";
import { screenshotFailure } from "./screenshot.js";
import { Service } from "./service.js";

/** How long a test may take. A script within a page has no limit of its own, and may wait for ever. */
const LIMIT_MS = 240_000;

/**
 * @typedef {object} Fixture
 * @property {Service} service
 * @property {(options?: import("./browser.js").PageOptions) => Promise<import("playwright-core").Page>} open
 *   opens a page in a browser context of its own
 * @property {(username: string) => Promise<ApiUser>} join registers a user by the API
 */

/**
 * @param {string} title
 * @param {(fixture: Fixture) => Promise<void>} body
 */
export function browserTest(title, body) {
  test(title, { timeout: 600_000 }, (t) => steadily(t, () => run(title, body)));
}

/**
 * Runs a test, and once more after a timeout, which may be a busy machine's fault. CI repeats any failed test once, and
 * says so: of hundreds of tests, one meets a pause that it does not expect. By hand a failed assertion fails at once.
 * @param {import("node:test").TestContext} t
 * @param {() => Promise<void>} body
 */
export async function steadily(t, body) {
  try {
    await body();
  } catch (error) {
    const timedOut = error instanceof Error && ["TimeoutError", PollTimeout.name].includes(error.name);
    if (!timedOut && !process.env.CI) throw error;
    t.diagnostic(`repeated after: ${error instanceof Error ? error.stack : error}`);
    await body();
  }
}

/**
 * @param {string} title
 * @param {(fixture: Fixture) => Promise<void>} body
 */
async function run(title, body) {
  const service = await Service.start();
  /** @type {import("playwright-core").Page[]} */
  const pages = [];
  try {
    const fixture = {
      service,
      /** @param {string} username */
      join: (username) => ApiUser.join(service.base, username),
      /** @param {import("./browser.js").PageOptions} [options] */
      open: async (options) => {
        const page = await open(service.base, options);
        pages.push(page);
        return page;
      },
    };
    await within(LIMIT_MS, "the test", body(fixture));
    pages.forEach(assertNoErrors);
  } catch (error) {
    await Promise.all(pages.map((page, index) => screenshotFailure(page, `failed--${title}--${index}`)));
    throw error;
  } finally {
    // Browsers first: the graceful shutdown of the service waits for their connections.
    await Promise.all(pages.map(close));
    await service.dispose();
  }
}
