// Whether the server answers: the banner of every page, and the page that the service worker shows instead of one that
// cannot be loaded.

import { t } from "./i18n.js";

/** How often a server that does not answer is asked again. */
const PROBE_MS = 5000;

const line = /** @type {HTMLElement} */ (document.getElementById("network-status"));
const instead = document.getElementById("unreachable");
/** Its own address is loaded by the service worker, and shows nothing that is missing. */
const isInstead = instead && location.pathname !== "/offline";
const isCached = document.body.dataset.cached !== undefined;

/** A page from the offline cache: the server did not answer, or not in time. */
let isDown = isCached || Boolean(isInstead) || !navigator.onLine;
/** @type {number | undefined} */
let timer;
/** @type {Promise<void> | undefined} */
let checking;

function show() {
  const isOffline = !navigator.onLine;
  if (instead) {
    for (const part of /** @type {NodeListOf<HTMLElement>} */ (instead.querySelectorAll("h1, h1 + p"))) {
      part.hidden = isOffline !== (part.dataset.offline !== undefined);
    }
    const heading = instead.querySelector("h1:not([hidden])")?.textContent;
    document.title = `${heading} · ${document.querySelector(".brand span")?.textContent}`;
    return;
  }
  line.hidden = !isOffline && !isDown;
  const notice = t(isOffline ? "offline" : "server_down");
  line.textContent = line.hidden ? "" : isCached ? `${notice} ${t("last_seen")}` : notice;
}

/** @param {boolean} down */
function setDown(down) {
  clearTimeout(timer);
  const wasDown = isDown;
  isDown = down;
  show();
  if (down) timer = setTimeout(checkServer, PROBE_MS);
  else if (wasDown && instead) location.reload();
  else if (wasDown) document.dispatchEvent(new Event("pinhole:reconnected"));
}

/**
 * Takes note of a response: it is the server's, unless it is from the offline cache or of a proxy.
 * @param {number} status
 * @param {(name: string) => string | null} header
 */
export function answered(status, header) {
  setDown(header("x-from-cache") !== null || (status >= 502 && status <= 504 && header("x-request-id") === null));
}

/** Asks the server whether it is there, after a request without a response. */
export function checkServer() {
  checking ??= probe().finally(() => (checking = undefined));
  return checking;
}

async function probe() {
  if (!navigator.onLine) return setDown(true);
  try {
    // The service worker leaves HEAD alone.
    const { status, headers } = await fetch(instead ? location.href : "/livez", { method: "HEAD", cache: "no-store" });
    answered(status, (name) => headers.get(name));
  } catch {
    setDown(true);
  }
}

/** Why a request had no response. */
export function noResponse() {
  checkServer();
  return t(navigator.onLine ? "no_network" : "offline");
}

addEventListener("online", checkServer);
addEventListener("offline", () => setDown(true));
document.addEventListener("visibilitychange", () => {
  if (isDown && !document.hidden) checkServer();
});
show();
// Not at once: the service worker has just asked.
if (isInstead) timer = setTimeout(checkServer, PROBE_MS);
else if (isDown) checkServer();
