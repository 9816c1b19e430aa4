// Toasts: short messages at the bottom of the page that disappear by themselves.

const DEFERRED = "pinhole-toast";

/** @param {string} text */
export function toast(text) {
  const toasts = document.getElementById("toasts");
  if (!toasts) return;
  const line = document.createElement("p");
  line.className = "toast";
  line.textContent = text;
  toasts.append(line);
  // Longer texts stay longer.
  setTimeout(() => line.remove(), 4000 + 60 * text.length);
}

/**
 * Shows the toast on the page that is opened next.
 * @param {string} text
 */
export function toastOnNextPage(text) {
  sessionStorage.setItem(DEFERRED, text);
}

export function showDeferredToast() {
  const text = sessionStorage.getItem(DEFERRED);
  if (!text) return;
  sessionStorage.removeItem(DEFERRED);
  toast(text);
}
