// A story: somebody, a service of their own, and browsers that are watched until the end.

import test from "node:test";

import { Person } from "./api.js";
import { open } from "./browser.js";
import { Vain } from "./eventually.js";
import { keep } from "./look.js";
import { Service } from "./service.js";
import { assertQuiet } from "./watch.js";

/**
 * @typedef {object} Stage
 * @property {Service} service
 * @property {(way?: import("./browser.js").Way) => Promise<import("playwright-core").Page>} open a page in a browser of its own
 * @property {(username: string) => Promise<Person>} join somebody who uses the API
 */

/**
 * @param {string} title
 * @param {(stage: Stage) => Promise<void>} body
 */
export function story(title, body) {
  test(title, { timeout: 240_000 }, async (t) => {
    try {
      await tell(title, body);
    } catch (error) {
      // A wait that ran out may be a busy machine's fault, and is given one more chance. A wrong answer is given none.
      if (!(error instanceof Error) || !["TimeoutError", Vain.name].includes(error.name)) throw error;
      t.diagnostic(`told a second time, because of: ${error.message.split("\n")[0]}`);
      await tell(title, body);
    }
  });
}

/**
 * @param {string} title
 * @param {(stage: Stage) => Promise<void>} body
 */
async function tell(title, body) {
  const service = await Service.start();
  /** @type {import("playwright-core").Page[]} */
  const pages = [];
  try {
    await body({
      service,
      join: (username) => Person.join(service.base, username),
      open: async (way) => {
        const page = await open(service.base, way);
        pages.push(page);
        return page;
      },
    });
    pages.forEach(assertQuiet);
  } catch (error) {
    await Promise.all(pages.map((page, index) => keep(page, `failed--${title}--${index}`)));
    throw error;
  } finally {
    // Browsers first: an orderly end of the service waits for its connections.
    await Promise.all(pages.map((page) => page.context().close()));
    await service.end();
  }
}
