// Form fields and the lines below them that show what is wrong.

/** @param {string} id */
export function input(id) {
  return /** @type {HTMLInputElement} */ (document.getElementById(id));
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
