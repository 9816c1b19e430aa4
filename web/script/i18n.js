// Translated messages, of a script that each page names and that runs before all modules.

/** @type {Record<string, string>} */
const messages = /** @type {any} */ (self).messages ?? {};

export const locale = document.documentElement.lang || "en";

/**
 * The message of a key, with its `{parameters}` filled in.
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 */
export function t(key, values = {}) {
  return fill(messages[key] ?? key, values);
}

/** A text with its `{parameters}` filled in. @param {string} text @param {Record<string, string | number>} values */
export function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (parameter, name) => String(values[name] ?? parameter));
}

/** The sentence of an error, by its reason or its code. @param {string} word @param {number} [limit] */
export function refusal(word, limit = 0) {
  const key = `error.${word}`;
  const number = (/** @type {number} */ value) => value.toLocaleString(locale);
  return messages[key] && t(key, { limit: number(limit), megapixels: number(limit / 1e6), size: fileSize(limit) });
}

/** The limit of a file as people write it, rounded down. @param {number} bytes */
export function fileSize(bytes) {
  return bytes < 2 ** 20 ? `${Math.floor(bytes / 2 ** 10)} kB` : `${Math.floor(bytes / 2 ** 20)} MB`;
}
