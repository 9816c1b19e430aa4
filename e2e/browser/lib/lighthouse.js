// Lighthouse audits of one URL, as a phone.

import * as chromeLauncher from "chrome-launcher";
import lighthouse from "lighthouse";

import { CHROMIUM_FLAGS } from "./browser.js";
import { chromium } from "./paths.js";

export const CATEGORIES = ["performance", "accessibility", "best-practices", "seo"];

/**
 * @typedef {object} AuditResult
 * @property {Record<string, number>} scores 0 to 1, by category
 * @property {string[]} failures every audit below the full score, by category
 */

/** @param {string} url @returns {Promise<AuditResult>} */
export async function audit(url) {
  // Lighthouse can lose its trace on a busy machine; then it is run again. A low score is never retried.
  for (let attempt = 1; ; attempt++) {
    try {
      return await runLighthouse(url);
    } catch (error) {
      if (attempt === 3 || !(error instanceof LighthouseError)) throw error;
    }
  }
}

/** Lighthouse failed to measure. */
class LighthouseError extends Error {}

/** @param {string} url @returns {Promise<AuditResult>} */
async function runLighthouse(url) {
  const chrome = await chromeLauncher.launch({ chromePath: chromium(), chromeFlags: CHROMIUM_FLAGS, logLevel: "error" });
  // Also when the test process exits early.
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
    if (!result) throw new Error(`Lighthouse returned no result for ${url}`);
    const { categories, audits, runtimeError } = result.lhr;
    if (runtimeError) throw new LighthouseError(`Lighthouse failed on ${url}: ${runtimeError.message}`);
    const scores = Object.fromEntries(Object.values(categories).map(({ id, score }) => [id, score ?? 0]));
    const failures = Object.values(categories).flatMap(({ id, auditRefs }) =>
      auditRefs
        .filter(({ id, weight }) => weight > 0 && audits[id].score !== null && audits[id].score < 1)
        .map((ref) => `${id}/${ref.id}: ${audits[ref.id].title} ${details(audits[ref.id])}`),
    );
    return { scores, failures };
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
