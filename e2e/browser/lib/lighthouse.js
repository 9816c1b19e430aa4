// Lighthouse on one address, as a phone.

import * as chromeLauncher from "chrome-launcher";
import lighthouse from "lighthouse";

import { FLAGS } from "./browser.js";
import { chromium } from "./places.js";

export const CATEGORIES = ["performance", "accessibility", "best-practices", "seo"];

/**
 * @typedef {object} Verdict
 * @property {Record<string, number>} scores 0 to 1, by category
 * @property {string[]} complaints every audit that cost something, by category
 */

/** @param {string} url @returns {Promise<Verdict>} */
export async function verdict(url) {
  // A trace can get lost on a busy machine. Then there was no measurement, and it is made anew; a bad one counts.
  for (let attempt = 1; ; attempt++) {
    try {
      return await measure(url);
    } catch (error) {
      if (attempt === 3 || !(error instanceof Unmeasured)) throw error;
    }
  }
}

class Unmeasured extends Error {}

/** @param {string} url @returns {Promise<Verdict>} */
async function measure(url) {
  const chrome = await chromeLauncher.launch({ chromePath: chromium(), chromeFlags: FLAGS, logLevel: "error" });
  // Whatever ends this process, no browser stays behind.
  const kill = () => chrome.kill();
  process.once("exit", kill);
  try {
    const result = await lighthouse(url, {
      port: chrome.port,
      output: "json",
      logLevel: "error",
      onlyCategories: CATEGORIES,
      disableFullPageScreenshot: true,
    });
    if (!result) throw new Error(`Lighthouse had nothing to say about ${url}`);
    const { categories, audits, runtimeError } = result.lhr;
    if (runtimeError) throw new Unmeasured(`Lighthouse failed on ${url}: ${runtimeError.message}`);
    const scores = Object.fromEntries(Object.values(categories).map(({ id, score }) => [id, score ?? 0]));
    const complaints = Object.values(categories).flatMap(({ id, auditRefs }) =>
      auditRefs
        .filter(({ id, weight }) => weight > 0 && audits[id].score !== null && audits[id].score < 1)
        .map((ref) => `${id}/${ref.id}: ${audits[ref.id].title} ${details(audits[ref.id])}`),
    );
    return { scores, complaints };
  } finally {
    process.off("exit", kill);
    kill();
  }
}

/** @param {any} audit */
function details(audit) {
  const items = audit.details?.items ?? [];
  return [audit.displayValue, ...items.slice(0, 3).map((/** @type {any} */ item) => JSON.stringify(item).slice(0, 400))].filter(Boolean).join("\n    ");
}
