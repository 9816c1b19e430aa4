// The composer: photos that are chosen, dropped, pasted, captured or shared become drafts, and drafts become
// posts.

import { ApiError, call, messageOf } from "./api.js";
import { deleteDraft, draftsOf, newDraft, saveDraft } from "./drafts.js";
import { pickFocus } from "./focus-picker.js";
import { fileSize, t } from "./i18n.js";
import { photoRefusal } from "./photo-file.js";
import { toast, toastOnNextPage } from "./toast.js";
import { upload } from "./upload.js";

const composer = /** @type {HTMLFormElement} */ (document.getElementById("composer"));
const list = /** @type {HTMLElement} */ (document.getElementById("draft-list"));
const template = /** @type {HTMLTemplateElement} */ (document.getElementById("draft-template"));
const submitRow = /** @type {HTMLElement} */ (document.getElementById("submit-row"));
const formError = /** @type {HTMLElement} */ (document.getElementById("form-error"));
const max = Number(composer.dataset.max);
const me = document.body.dataset.me ?? "";

/** The rows on the page by draft key, in order. @type {Map<string, DraftRow>} */
const rows = new Map();

/** A draft and its list item. */
class DraftRow {
  /** Set while uploading. @type {AbortController | undefined} */
  uploading;

  /** @param {import("./drafts.js").Draft} draft */
  constructor(draft) {
    this.draft = draft;
    const fragment = /** @type {DocumentFragment} */ (template.content.cloneNode(true));
    this.root = /** @type {HTMLElement} */ (fragment.querySelector("li"));
    this.progress = /** @type {HTMLProgressElement} */ (this.root.querySelector("progress"));
    this.preview();
    for (const name of /** @type {const} */ (["message", "alt"])) {
      const area = /** @type {HTMLTextAreaElement} */ (this.root.querySelector(`[name="${name}"]`));
      area.value = draft[name];
      area.addEventListener("input", () => {
        draft[name] = area.value;
        persist(draft);
      });
    }
    const sharing = /** @type {HTMLInputElement} */ (this.root.querySelector('[name="share_original"]'));
    sharing.checked = Boolean(draft.share_original);
    sharing.addEventListener("change", () => {
      draft.share_original = sharing.checked;
      persist(draft);
    });
    this.button("remove").addEventListener("click", () => this.remove());
    this.button("cancel").addEventListener("click", () => this.uploading?.abort());
    this.button("retry").addEventListener("click", () => uploadAll([this]));
    this.setState("idle");
  }

  preview() {
    const image = /** @type {HTMLImageElement} */ (this.root.querySelector("img"));
    const url = URL.createObjectURL(this.draft.file);
    image.addEventListener("load", () => URL.revokeObjectURL(url));
    image.addEventListener("error", () => {
      URL.revokeObjectURL(url);
      image.hidden = true;
      const name = /** @type {HTMLElement} */ (image.nextElementSibling);
      name.textContent = `${this.draft.name}\n${t("no_preview")}`;
      name.hidden = false;
    });
    image.src = url;
    pickFocus(/** @type {HTMLElement} */ (this.root.querySelector(".square-picker")), this.draft.focus, (focus) => {
      this.draft.focus = focus;
      persist(this.draft);
    });
  }

  /** @param {string} action */
  button(action) {
    return /** @type {HTMLButtonElement} */ (this.root.querySelector(`[data-action="${action}"]`));
  }

  /**
   * @param {"idle" | "waiting" | "uploading" | "processing" | "failed" | "queued"} state
   * @param {string} [text] progress while active, else the reason for the state
   */
  setState(state, text = "") {
    this.root.dataset.state = state;
    const active = state === "waiting" || state === "uploading" || state === "processing";
    const line = /** @type {HTMLElement} */ (this.root.querySelector(".draft-state"));
    line.hidden = !active;
    /** @type {HTMLElement} */ (line.querySelector("span")).textContent = active ? text : "";
    /** @type {HTMLElement} */ (this.root.querySelector(".error")).textContent = active ? "" : text;
    this.button("remove").hidden = active;
    // Not while processing: the server has the whole body and may already have created the post.
    this.button("cancel").hidden = state !== "uploading";
    this.button("retry").hidden = state !== "failed" && state !== "queued";
    for (const area of this.root.querySelectorAll("textarea")) area.readOnly = active;
    for (const input of this.root.querySelectorAll("input")) input.disabled = active;
  }

  async remove() {
    rows.delete(this.draft.key);
    this.root.remove();
    updateList();
    // If it is added again, its upload starts again.
    if (this.draft.upload) call("DELETE", this.draft.upload.url).catch(() => undefined);
    await persist(this.draft, false);
    const run = () => {
      addRow(this.draft);
      persist(this.draft);
    };
    toast(t("draft_removed"), { label: t("undo"), run });
    const next = /** @type {HTMLElement | null} */ (list.querySelector("textarea"));
    (next ?? document.getElementById("photo-input"))?.focus();
  }

  /** @returns {Promise<string | undefined>} the removed metadata; undefined when the upload failed */
  async upload() {
    this.uploading = new AbortController();
    this.progress.value = 0;
    this.setState("uploading", t("sending", { percent: 0 }));
    const progress = (/** @type {number} */ percent) => {
      this.progress.value = percent;
      this.root.style.setProperty("--progress", String(percent));
      // In steps of ten: a screen reader announces every change.
      if (percent < 100) this.setState("uploading", t("sending", { percent: 10 * Math.floor(percent / 10) }));
      else this.setState("processing", t("processing"));
    };
    try {
      const { removed } = await upload(this.draft, progress, this.uploading.signal);
      rows.delete(this.draft.key);
      await persist(this.draft, false);
      this.root.remove();
      return removed;
    } catch (error) {
      await this.fail(error);
      return undefined;
    } finally {
      this.uploading = undefined;
    }
  }

  /** @param {unknown} error */
  async fail(error) {
    if (error instanceof DOMException && error.name === "AbortError") return this.setState("idle", t("cancelled"));
    if (!(error instanceof ApiError)) return this.setState("failed", messageOf(error));
    if (error.status !== 0) this.setState("failed", error.message);
    if (error.status === 401) {
      // The draft is saved, so it is here again after the login.
      const link = Object.assign(document.createElement("a"), { href: "/login?next=/new", textContent: t("log_in_again") });
      this.root.querySelector(".error")?.append(" ", link);
    }
    if (error.status !== 0) return;
    // No response: queue the draft. `main.js` posts it when the network is back.
    this.draft.queued = true;
    const saved = await persist(this.draft);
    this.setState("queued", saved ? t("queued") : error.message);
    if (!saved) return;
    const worker = await navigator.serviceWorker?.getRegistration();
    // Background Sync, where supported, posts it even after this page is closed.
    await /** @type {any} */ (worker)?.sync?.register("drafts").catch(() => undefined);
  }
}

/**
 * Saves or deletes a draft. Without IndexedDB (a private window) drafts last only as long as this page.
 * @param {import("./drafts.js").Draft} draft
 * @param {boolean} [wanted]
 */
async function persist(draft, wanted = true) {
  try {
    await (wanted ? saveDraft(draft) : deleteDraft(draft.key));
    return true;
  } catch (error) {
    console.info("drafts cannot be saved on this device", error);
    return false;
  }
}

/** @param {Iterable<File>} files */
async function addFiles(files) {
  // What was said of other files is over before the first draft is here.
  showErrors([]);
  const errors = [];
  for (const file of files) {
    const refused = await photoRefusal(file, file.name);
    if (file.size > max) errors.push(t("too_large", { name: file.name, max: fileSize(max) }));
    else if (refused) errors.push(refused);
    else {
      const draft = newDraft(file, file.name, me);
      addRow(draft);
      await persist(draft);
    }
  }
  showErrors(errors);
}

/** Above the drafts, which may have been scrolled down. @param {string[]} errors */
function showErrors(errors) {
  formError.textContent = errors.join(" ");
  if (errors.length) formError.scrollIntoView({ block: "nearest" });
}

/** @param {import("./drafts.js").Draft} draft */
function addRow(draft) {
  const row = new DraftRow(draft);
  rows.set(draft.key, row);
  list.append(row.root);
  if (draft.queued) row.setState("queued", t("queued"));
  updateList();
}

/** Renumbers the rows; the submit button is visible while there are any. */
function updateList() {
  submitRow.hidden = rows.size === 0;
  for (const [index, { root, progress }] of [...rows.values()].entries()) {
    for (const element of [root, progress]) element.setAttribute("aria-label", t("draft", { number: index + 1 }));
  }
}

/** @param {DraftRow[]} selected */
async function uploadAll(selected) {
  const button = /** @type {HTMLButtonElement} */ (submitRow.querySelector("button"));
  button.disabled = true;
  for (const row of selected) row.setState("waiting", t("waiting"));
  let located = false;
  // Sequentially: parallel uploads would share the bandwidth, and all of them would finish late.
  for (const row of selected) located = Boolean((await row.upload())?.includes("gps")) || located;
  button.disabled = false;
  updateList();
  if (rows.size > 0) {
    // Not below the bar.
    const failed = list.querySelector('[data-state="failed"] .error, [data-state="queued"] .error');
    failed?.scrollIntoView({ block: "center" });
    return;
  }
  toastOnNextPage(located ? `${t("all_posted")} ${t("removed_location")}` : t("all_posted"));
  location.assign("/");
}

composer.addEventListener("submit", (event) => {
  event.preventDefault();
  uploadAll([...rows.values()]);
});

for (const id of ["photo-input", "camera-input"]) {
  const input = /** @type {HTMLInputElement} */ (document.getElementById(id));
  input.addEventListener("change", async () => {
    await addFiles(input.files ?? []);
    input.value = "";
  });
}

// `main.js` dispatches it for photos that are dropped or pasted anywhere on the page.
document.addEventListener("pinhole:photos", (event) => {
  event.preventDefault();
  addFiles(/** @type {CustomEvent<File[]>} */ (event).detail);
});

// The queue was flushed by this tab, another tab or the service worker: drop the rows that were posted.
document.addEventListener("pinhole:flushed", async () => {
  const remaining = new Map((await draftsOf(me)).map((draft) => [draft.key, draft]));
  for (const [key, row] of rows) {
    if (!row.draft.queued || row.uploading) continue;
    const draft = remaining.get(key);
    if (draft?.queued) continue;
    row.draft.queued = false;
    if (draft) {
      row.setState("failed", t("upload_rejected"));
      continue;
    }
    rows.delete(key);
    row.root.remove();
  }
  updateList();
});

draftsOf(me).then(
  async (drafts) => {
    // The system's share sheet passes on any file.
    const refusals = await Promise.all(drafts.map(({ file, name }) => photoRefusal(file, name)));
    const errors = refusals.filter(Boolean);
    for (const [index, draft] of drafts.entries()) {
      draft.by = me;
      if (refusals[index]) persist(draft, false);
      else addRow(draft);
    }
    if (location.search === "?shared" && drafts.length === 0) errors.push(t("shared_lost"));
    showErrors(errors);
  },
  (error) => console.info("drafts cannot be saved on this device", error),
);
