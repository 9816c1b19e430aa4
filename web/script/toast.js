// A sentence at the foot of the page that goes by itself.

const LATER = "pinhole-toast";

/** @param {string} text */
export function toast(text) {
  const place = document.getElementById("toasts");
  if (!place) return;
  const line = document.createElement("p");
  line.className = "toast";
  line.textContent = text;
  place.append(line);
  // Long enough to be read twice.
  setTimeout(() => line.remove(), 4000 + 60 * text.length);
}

/**
 * Says it on the page that is opened next.
 * @param {string} text
 */
export function toastLater(text) {
  sessionStorage.setItem(LATER, text);
}

export function showWaiting() {
  const text = sessionStorage.getItem(LATER);
  if (!text) return;
  sessionStorage.removeItem(LATER);
  toast(text);
}
