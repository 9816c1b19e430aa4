// Translated messages, embedded in the page by the server.

/** @type {Record<string, string>} */
const messages = JSON.parse(document.getElementById("messages")?.textContent || "{}");

export const locale = document.documentElement.lang || "en";

/**
 * The message of a key, with its `{parameters}` filled in.
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 */
export function t(key, values = {}) {
  const text = messages[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (parameter, name) => String(values[name] ?? parameter));
}
