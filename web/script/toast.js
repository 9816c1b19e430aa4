// Toasts: short messages at the bottom of the page that disappear by themselves.

const DEFERRED = "pinhole-toast";

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
