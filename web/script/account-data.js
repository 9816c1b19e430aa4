// The part of the settings page about the user's data: export and import.

import { ApiError, call, messageOf } from "./api.js";
import { input, setFieldError } from "./fields.js";
import { t } from "./i18n.js";
import { clearPages } from "./offline-cache.js";
import { toast } from "./toast.js";
import { send } from "./upload.js";

/** How often the progress of an import is read, in milliseconds. */
const POLL_INTERVAL = 1000;

/** @typedef {{ status: string, total: number, imported: number, skipped: number, failed: number, error?: string }} Import */

const form = /** @type {HTMLFormElement} */ (document.getElementById("import-form"));
const formError = /** @type {HTMLElement} */ (document.getElementById("import-form-error"));
const status = /** @type {HTMLElement} */ (document.getElementById("import-status"));
const detail = /** @type {HTMLElement} */ (document.getElementById("import-detail"));
const bar = /** @type {HTMLProgressElement} */ (document.getElementById("import-progress"));
const button = /** @type {HTMLButtonElement} */ (form.querySelector("button"));
const cancel = /** @type {HTMLElement} */ (document.getElementById("import-cancel"));
let isCancelled = false;

document.getElementById("export")?.addEventListener("click", async () => {
  try {
    await call("POST", "/me/export");
    toast(t("export_started"));
    // A download, so that the page stays even if it fails.
    Object.assign(document.createElement("a"), { href: "/me/export", download: "" }).click();
  } catch (cause) {
    toast(messageOf(cause));
  }
});

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const file = input("archive").files?.[0];
  formError.textContent = "";
  setFieldError("archive", file ? "" : t("import_missing"));
  if (!file) return;
  const data = new FormData();
  data.set("archive", file);
  button.disabled = true;
  try {
    const { response } = await send("POST", "/me/import", data, {}, (percent) => {
      show(t("import_sending", { percent: Math.round(percent) }), percent);
    });
    form.reset();
    await follow(response);
  } catch (cause) {
    show("", undefined);
    if (cause instanceof ApiError && cause.field === "archive") setFieldError("archive", cause.message);
    else formError.textContent = messageOf(cause);
  } finally {
    button.disabled = false;
  }
});

/** How often in a row the progress may be unreadable. */
const POLL_FAILURES = 10;

/** Shows progress, which is not announced, or without it the outcome. @param {string} text @param {number | undefined} percent */
function show(text, percent) {
  const isRunning = percent !== undefined;
  detail.textContent = isRunning ? text : "";
  status.textContent = isRunning ? "" : text;
  bar.hidden = !isRunning;
  bar.value = percent ?? 0;
}

cancel.addEventListener("click", async () => {
  isCancelled = true;
  try {
    await call("DELETE", "/me/import");
  } catch (cause) {
    isCancelled = false;
    toast(messageOf(cause));
  }
});

/** Shows the progress until the import ends. @param {Import} last */
async function follow(last) {
  let failures = 0;
  isCancelled = false;
  cancel.hidden = last.status !== "running";
  while (last.status === "running") {
    const done = last.imported + last.skipped + last.failed;
    show(t("import_running", { done, total: last.total }), (100 * done) / Math.max(last.total, 1));
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL));
    try {
      last = (await call("GET", "/me/import")).body;
      failures = 0;
    } catch (cause) {
      // The import runs on without us.
      if (++failures >= POLL_FAILURES) throw cause;
    }
  }
  cancel.hidden = true;
  await clearPages();
  const { imported, skipped, failed } = last;
  const outcome = isCancelled ? "import_cancelled" : last.status === "finished" ? "import_finished" : "import_interrupted";
  show(t(outcome, { imported, skipped, failed }), undefined);
  formError.textContent = last.error && !isCancelled ? t("import_incomplete") : "";
}

// An import that was started before, or in another tab.
if (form.dataset.running !== undefined) {
  button.disabled = true;
  call("GET", "/me/import")
    .then(({ body }) => follow(body))
    .catch((cause) => toast(messageOf(cause)))
    .finally(() => (button.disabled = false));
}
