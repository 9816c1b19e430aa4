// Markup checks that axe leaves out: ids, references, labels.

import assert from "node:assert/strict";

/**
 * Ids are unique, references lead to an element of their kind, and every form field has a label of its own: a placeholder is
 * no name. Templates are checked as well, except for ids, which scripts complete.
 * @param {import("playwright-core").Page} page
 */
export async function assertMarkup(page) {
  const faults = await page.evaluate(() => {
    const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
    const faults = ids.filter((id, index) => ids.indexOf(id) < index).map((id) => `several elements have the id ${id}`);
    const templates = [...document.querySelectorAll("template")].map(({ content }) => content);
    for (const root of [document, ...templates]) {
      for (const use of root.querySelectorAll("use")) {
        const symbol = document.getElementById(use.getAttribute("href")?.slice(1) ?? "");
        if (symbol?.localName !== "symbol") faults.push(`${use.outerHTML} refers to ${symbol?.outerHTML ?? "nothing"}`);
      }
      for (const label of root.querySelectorAll("label")) {
        if (!label.control) faults.push(`${label.outerHTML} has no field`);
      }
      for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (root.querySelectorAll("input:not([type=hidden]), select, textarea"))) {
        if (field.closest("[aria-hidden=true]")) continue;
        const referred = (field.getAttribute("aria-labelledby") ?? "").split(" ").map((id) => document.getElementById(id));
        // The fields of a template have no `labels`.
        const around = field.closest("label");
        const labels = [...(field.labels ?? []), ...(around ? [around] : [])];
        const names = [...referred, ...labels].map((label) => {
          const copy = /** @type {Element | undefined} */ (label?.cloneNode(true));
          for (const other of copy?.querySelectorAll("input, select, textarea, small") ?? []) other.remove();
          return copy?.textContent?.trim();
        });
        if (![field.getAttribute("aria-label"), ...names].some(Boolean)) faults.push(`${field.outerHTML} has no label`);
        if (labels.some((label) => label.control !== field)) faults.push(`${field.outerHTML} shares its label`);
      }
    }
    return faults;
  });
  assert.deepEqual(faults, [], page.url());
}
