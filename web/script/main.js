// What every page does: tell times, tell about the network, take in dropped and pasted photos, send what waited.

import { all, draft, flush, keep } from "./drafts.js";
import { showWaiting, toast } from "./toast.js";
import { tellTimes } from "./time.js";
import { say } from "./words.js";

const me = document.body.dataset.me;

/** A server that was away may be back without the network ever having gone. */
const LOOK_AGAIN = 30_000;

function tellNetwork() {
  const line = /** @type {HTMLElement} */ (document.getElementById("network"));
  const old = !navigator.onLine || document.body.dataset.kept !== undefined;
  line.hidden = !old;
  line.textContent = old ? say("offline") : "";
}

/** Posts what waited for the network. */
async function sendWaiting() {
  if (!me || !navigator.onLine) return;
  try {
    if (!(await all(me)).some((waiting) => waiting.queued)) return;
    // One tab at a time, where the browser can arrange it; the keys make sure in any case.
    const posted = navigator.locks
      ? await navigator.locks.request("drafts", { ifAvailable: true }, (lock) => (lock ? flush() : 0))
      : await flush();
    if (posted > 0) toast(say("all_posted"));
  } catch (error) {
    console.info("what waits could not be looked at", error);
  } finally {
    document.dispatchEvent(new Event("pinhole:flushed"));
  }
}

/** @param {DataTransfer | null} data */
function photosIn(data) {
  return [...(data?.files ?? [])].filter((file) => !file.type || file.type.startsWith("image/"));
}

/** Hands photos to the composer: the one on this page, or the one we open. @param {File[]} files */
async function compose(files) {
  if (!me) return location.assign("/login?next=/new");
  const taken = !document.dispatchEvent(new CustomEvent("pinhole:photos", { detail: files, cancelable: true }));
  if (taken) return;
  for (const file of files) await keep(draft(file, file.name, me));
  location.assign("/new");
}

/** @param {DragEvent} event */
function carriesFiles(event) {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

addEventListener("dragover", (event) => {
  if (!carriesFiles(event)) return;
  event.preventDefault();
  document.body.classList.add("over");
});
addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) document.body.classList.remove("over");
});
addEventListener("drop", (event) => {
  if (!carriesFiles(event)) return;
  event.preventDefault();
  document.body.classList.remove("over");
  const files = photosIn(event.dataTransfer);
  if (files.length > 0) compose(files);
});
addEventListener("paste", (event) => {
  const files = photosIn(/** @type {ClipboardEvent} */ (event).clipboardData);
  if (files.length === 0) return;
  event.preventDefault();
  compose(files);
});

// A photo with clear parts must not show its haze through them.
document.addEventListener(
  "load",
  (event) => {
    const image = /** @type {Element} */ (event.target);
    if (!image.matches?.(".picture")) return;
    image.previousElementSibling?.remove();
    image.classList.remove("missing");
  },
  true,
);
// One that does not arrive leaves its haze, not a broken picture.
document.addEventListener(
  "error",
  (event) => {
    const image = /** @type {Element} */ (event.target);
    if (image.matches?.(".picture")) image.classList.add("missing");
  },
  true,
);
for (const image of /** @type {NodeListOf<HTMLImageElement>} */ (document.querySelectorAll(".picture"))) {
  if (image.complete && image.naturalWidth > 0) image.previousElementSibling?.remove();
}

async function register() {
  const worker = navigator.serviceWorker;
  if (!worker) return;
  const trusted = /** @type {any} */ (window).trustedTypes?.createPolicy("pinhole", {
    createScriptURL: (/** @type {string} */ url) => url,
  });
  try {
    await worker.register(trusted?.createScriptURL("/sw.js") ?? "/sw.js", { type: "module" });
  } catch (error) {
    console.info("pages are not kept for offline use", error);
  }
}

addEventListener("online", () => {
  tellNetwork();
  sendWaiting();
});
addEventListener("offline", tellNetwork);
navigator.serviceWorker?.addEventListener("message", ({ data }) => {
  if (data === "flushed") document.dispatchEvent(new Event("pinhole:flushed"));
});
tellNetwork();
tellTimes(document);
showWaiting();
sendWaiting();
setInterval(sendWaiting, LOOK_AGAIN);
register();
