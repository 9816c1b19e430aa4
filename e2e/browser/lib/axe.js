// Accessibility checks: WCAG 2.2 AA, axe's best practices, ids and labels.

import assert from "node:assert/strict";

import axe from "axe-core";

import { assertMarkup } from "./markup.js";
import { waitUntilStable } from "./screenshot.js";

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/**
 * Waits for a stable page first: in the middle of a transition, colours are between two states.
 * @param {import("playwright-core").Page} page
 * @param {{ only?: string[] }} [options] these rules instead of all
 */
export async function assertAccessible(page, { only } = {}) {
  await waitUntilStable(page);
  if (!only) await assertMarkup(page);
  // Evaluated through the debugger, which the page's content security policy does not restrict.
  await page.evaluate(axe.source);
  const violations = await page.evaluate(async (runOnly) => {
    // Cards that the browser has not laid out have no place yet: axe would find them on top of each other.
    const cards = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".feed > .post"));
    for (const card of cards) card.style.contentVisibility = "visible";
    // @ts-expect-error `window.axe` comes from the line above
    const results = await window.axe.run(document, { runOnly, resultTypes: ["violations"] });
    for (const card of cards) card.style.contentVisibility = "";
    return results.violations.map((/** @type {any} */ { id, help, nodes }) => ({
      id,
      help,
      nodes: nodes.map((/** @type {any} */ node) => `${node.target.join(" ")}\n      ${node.html}\n      ${node.failureSummary.replace(/\s+/g, " ")}`),
    }));
  }, only ? { type: "rule", values: only } : { type: "tag", values: TAGS });
  const list = violations.map((/** @type {any} */ { id, help, nodes }) => `  ${id}: ${help}\n    ${nodes.join("\n    ")}`);
  assert.ok(!list.length, `${page.url()} is not accessible:\n${list.join("\n")}`);
}
