// Form fields and the lines below them that show what is wrong.

/** Only a form field: another element of the page may not answer for one. @param {string} id */
export function input(id) {
  return /** @type {HTMLInputElement} */ (document.querySelector(`:is(input, select, textarea)[id="${id}"]`));
}

/** @param {string} id @param {string} text empty when the field is valid */
export function setFieldError(id, text) {
  const line = /** @type {HTMLElement} */ (document.getElementById(`${id}-error`));
  line.textContent = text;
  input(id).setAttribute("aria-invalid", String(Boolean(text)));
  if (text) input(id).focus();
}

/** @param {string} text */
export function byteLength(text) {
  return new TextEncoder().encode(text).length;
}
