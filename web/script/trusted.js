// The one policy of Trusted Types: markup and scripts of the service itself.

const types = /** @type {any} */ (window).trustedTypes;
const policy = types?.createPolicy("pinhole", {
  createHTML: (/** @type {string} */ html) => html,
  createScriptURL: (/** @type {string} */ url) => url,
});

/** A part of a page that the server has rendered. Its scripts do not run. @param {string} html */
export function parsePart(html) {
  return new DOMParser().parseFromString(policy?.createHTML(html) ?? html, "text/html");
}

/** @param {string} url @returns {string} */
export function scriptUrl(url) {
  return policy?.createScriptURL(url) ?? url;
}
