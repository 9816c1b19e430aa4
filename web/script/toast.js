// Toasts: short messages at the bottom of the page that disappear by themselves.

import { call, messageOf } from "./api.js";
import { t } from "./i18n.js";
import { clearPages } from "./offline-cache.js";

const DEFERRED = "pinhole-next-toast";

/**
 * @param {string} text
 * @param {{ label: string, run: () => void }} [action] a button, such as for undo
 */
export function toast(text, action) {
  const toasts = document.getElementById("toasts");
  if (!toasts) return;
  const line = document.createElement("p");
  line.className = "toast";
  line.textContent = text;
  if (action) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: action.label });
    button.addEventListener("click", () => {
      line.remove();
      action.run();
    });
    line.append(" ", button);
  }
  toasts.append(line);
  // Longer texts stay longer, and those that can be answered.
  setTimeout(() => line.remove(), (action ? 10_000 : 4000) + 60 * text.length);
}

/** Runs an action, and shows its error. @param {() => Promise<void>} action */
export async function attempt(action) {
  try {
    await action();
  } catch (cause) {
    toast(messageOf(cause));
  }
}

/**
 * The button that takes something back.
 * @param {string} path what to delete
 * @param {() => void} [restore] shows it on this page
 */
export function undo(path, restore = () => location.reload()) {
  const run = () =>
    attempt(async () => {
      await call("DELETE", path);
      await clearPages();
      restore();
    });
  return { label: t("undo"), run };
}

/**
 * Shows the toast on the page that is opened next.
 * @param {string} text
 * @param {string} [path] what undo deletes
 */
export function toastOnNextPage(text, path) {
  sessionStorage.setItem(DEFERRED, JSON.stringify({ text, path }));
}

export function showDeferredToast() {
  const { text, path } = JSON.parse(sessionStorage.getItem(DEFERRED) ?? "{}");
  sessionStorage.removeItem(DEFERRED);
  if (text) toast(text, path && undo(path));
}
