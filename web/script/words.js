// The words of the reader's language, as the server put them into the page.

/** @type {Record<string, string>} */
const words = JSON.parse(document.getElementById("words")?.textContent || "{}");

export const language = document.documentElement.lang || "en";

/**
 * A sentence with its `{gaps}` filled.
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 */
export function say(key, values = {}) {
  const text = words[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (gap, name) => String(values[name] ?? gap));
}
