// Dialogs with a form: they close by a button, or by a click beside them that loses nothing, and show the error of what
// they do.

import { messageOf } from "./api.js";

/** What a form would send. @param {HTMLFormElement} form */
function content(form) {
  return [...new FormData(form)].map(([name, value]) => `${name}=${value}`).join("\n").trim();
}

/** What a dialog does; what it returns runs after the dialog is closed: until then nothing else can have the focus. @typedef {Promise<void | (() => void)>} Outcome */

/**
 * Opens a dialog. It closes when its action has succeeded.
 * @param {string} id
 * @param {(form: HTMLFormElement) => Outcome} action
 */
export function openSheet(id, action) {
  const sheet = /** @type {HTMLDialogElement} */ (document.getElementById(id));
  const form = /** @type {HTMLFormElement} */ (sheet.querySelector("form"));
  const error = /** @type {HTMLElement} */ (form.querySelector(".error"));
  const button = /** @type {HTMLButtonElement} */ (form.querySelector("button:not([type])"));
  const opened = content(form);
  error.textContent = "";
  sheet.onclick = ({ target }) => {
    const element = /** @type {Element} */ (target);
    if (element.matches("[data-close]") || (element === sheet && content(form) === opened)) sheet.close();
  };
  sheet.onsubmit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    error.textContent = "";
    try {
      const closed = await action(form);
      sheet.close();
      closed?.();
    } catch (cause) {
      error.textContent = messageOf(cause);
    }
    button.disabled = false;
  };
  sheet.showModal();
}

/**
 * Asks before something that cannot be undone, or that others notice.
 * @param {{ title: string, text: string, label: string }} question
 * @param {() => Outcome} action
 */
export function confirm({ title, text, label }, action) {
  const sheet = /** @type {HTMLElement} */ (document.getElementById("confirm"));
  for (const [selector, content] of [["h2", title], ["#confirm-text", text], [".danger", label]]) {
    /** @type {HTMLElement} */ (sheet.querySelector(selector)).textContent = content;
  }
  openSheet("confirm", action);
}
