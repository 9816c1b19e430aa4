// A browser test: a service of its own, and pages whose errors fail the test.

import test from "node:test";

import { ApiUser } from "./api.js";
import { open } from "./browser.js";
import { PollTimeout } from "./eventually.js";
import { assertNoErrors } from "./page-errors.js";
import { screenshotFailure } from "./screenshot.js";
import { Service } from "./service.js";

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
  test(title, { timeout: 240_000 }, async (t) => {
    try {
      await run(title, body);
    } catch (error) {
      // A timeout may be a busy machine's fault and is retried once. A failed assertion never is.
      if (!(error instanceof Error) || !["TimeoutError", PollTimeout.name].includes(error.name)) throw error;
      t.diagnostic(`retried after: ${error.message.split("\n")[0]}`);
      await run(title, body);
    }
  });
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
    await body({
      service,
      join: (username) => ApiUser.join(service.base, username),
      open: async (options) => {
        const page = await open(service.base, options);
        pages.push(page);
        return page;
      },
    });
    pages.forEach(assertNoErrors);
  } catch (error) {
    await Promise.all(pages.map((page, index) => screenshotFailure(page, `failed--${title}--${index}`)));
    throw error;
  } finally {
    // Browsers first: the graceful shutdown of the service waits for their connections.
    await Promise.all(pages.map((page) => page.context().close()));
    await service.dispose();
  }
}
