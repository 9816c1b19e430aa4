// Entry module of every page: times, drag and drop, paste, placeholders, the draft queue and the service worker's
// registration.

import { draftsOf, flushQueue, newDraft, saveDraft } from "./drafts.js";
import { t } from "./i18n.js";
import { checkServer } from "./network.js";
import { PAGES } from "./offline-cache.js";
import { photoRefusal } from "./photo-file.js";
import { setPreference } from "./preferences.js";
import { formatTimes } from "./time.js";
import { showDeferredToast, toast, toastOnNextPage } from "./toast.js";
import { scriptUrl } from "./trusted.js";

const me = document.body.dataset.me;

/** The server may have been busy, or another page may have queued a draft. */
const QUEUE_RETRY_MS = 30_000;

async function postQueuedDrafts() {
  if (!me || !navigator.onLine) return;
  try {
    if (!(await draftsOf(me)).some(({ queued }) => queued)) return;
    // One tab at a time, where Web Locks exist; the idempotency keys prevent duplicate posts in any case.
    const posted = navigator.locks
      ? await navigator.locks.request("drafts", { ifAvailable: true }, (lock) => (lock ? flushQueue() : 0))
      : await flushQueue();
    if (posted > 0) {
      // The banner goes first.
      await checkServer();
      toast(t("all_posted"));
      document.dispatchEvent(new Event("pinhole:poll"));
    }
  } catch (error) {
    console.info("queued drafts could not be posted", error);
    checkServer();
  } finally {
    document.dispatchEvent(new Event("pinhole:flushed"));
  }
}

/** Passes photos to this page's composer, or saves them as drafts and opens it. @param {File[]} files */
async function compose(files) {
  const handled = !document.dispatchEvent(new CustomEvent("pinhole:photos", { detail: files, cancelable: true }));
  if (handled) return;
  const errors = [];
  for (const file of files) {
    const refused = await photoRefusal(file, file.name);
    if (refused) errors.push(refused);
    // A guest's drafts belong to the user who logs in next on this device.
    else await saveDraft(newDraft(file, file.name, me ?? ""));
  }
  if (errors.length === files.length) return toast(errors.join(" "));
  if (errors.length) toastOnNextPage(errors.join(" "));
  location.assign(me ? "/new" : "/login?next=/new");
}

/** @param {DragEvent} event */
function hasFiles(event) {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

addEventListener("dragover", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  document.body.classList.add("dragover");
});
addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) document.body.classList.remove("dragover");
});
addEventListener("drop", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  document.body.classList.remove("dragover");
  const files = [...(event.dataTransfer?.files ?? [])];
  if (files.length > 0) compose(files);
});
addEventListener("paste", (event) => {
  // A copied text may carry files of other types.
  const pasted = /** @type {ClipboardEvent} */ (event).clipboardData?.files ?? [];
  const files = [...pasted].filter(({ type }) => !type || type.startsWith("image/"));
  if (files.length === 0) return;
  event.preventDefault();
  compose(files);
});

// Removes the placeholder of a loaded image: it would show through transparent parts.
document.addEventListener(
  "load",
  (event) => {
    const image = /** @type {Element} */ (event.target);
    if (!image.matches?.(".picture")) return;
    image.previousElementSibling?.remove();
    image.classList.remove("load-failed");
  },
  true,
);
// Hides an image that failed to load: its placeholder stays instead of the browser's icon.
document.addEventListener(
  "error",
  (event) => {
    const image = /** @type {Element} */ (event.target);
    if (image.matches?.(".picture")) image.classList.add("load-failed");
  },
  true,
);
for (const image of /** @type {NodeListOf<HTMLImageElement>} */ (document.querySelectorAll(".picture"))) {
  if (image.complete && image.naturalWidth > 0) image.previousElementSibling?.remove();
}

document.getElementById("intro-close")?.addEventListener("click", () => {
  document.getElementById("intro")?.remove();
  document.getElementById("main")?.focus();
  setPreference("introduced", "yes");
});

async function registerServiceWorker() {
  const container = navigator.serviceWorker;
  if (!container) return;
  try {
    await container.register(scriptUrl("/sw.js"), { type: "module" });
    // The composer is available offline, also to those who have not opened it.
    const pages = me && (await caches.open(PAGES));
    if (pages && !(await pages.match("/new", { ignoreVary: true }))) await pages.add("/new");
  } catch (error) {
    console.info("service worker not registered; pages are not available offline", error);
  }
}

document.addEventListener("pinhole:reconnected", postQueuedDrafts);
navigator.serviceWorker?.addEventListener("message", ({ data }) => {
  if (data !== "flushed") return;
  document.dispatchEvent(new Event("pinhole:flushed"));
  document.dispatchEvent(new Event("pinhole:poll"));
});
formatTimes(document);
showDeferredToast();
postQueuedDrafts();
setInterval(postQueuedDrafts, QUEUE_RETRY_MS);
// After the page's own requests: the worker downloads the scripts of all pages.
if (document.readyState === "complete") registerServiceWorker();
else addEventListener("load", registerServiceWorker);
