// The composer: photos chosen, dropped, pasted, taken or shared to us become drafts, and drafts become posts.

import { Failure, call } from "./api.js";
import { all, draft as newDraft, forget, keep } from "./drafts.js";
import { toastLater } from "./toast.js";
import { send } from "./upload.js";
import { say } from "./words.js";

const compose = /** @type {HTMLFormElement} */ (document.getElementById("compose"));
const list = /** @type {HTMLElement} */ (document.getElementById("drafts"));
const blank = /** @type {HTMLTemplateElement} */ (document.getElementById("draft"));
const sendRow = /** @type {HTMLElement} */ (document.getElementById("send"));
const problem = /** @type {HTMLElement} */ (document.getElementById("problem"));
const max = Number(compose.dataset.max);
const me = document.body.dataset.me ?? "";

/** Drafts on the page, in order. @type {Map<string, Row>} */
const rows = new Map();

/** One draft and the row that shows it. */
class Row {
  /** @type {AbortController | undefined} */
  sending;

  /** @param {import("./drafts.js").Draft} draft */
  constructor(draft) {
    this.draft = draft;
    const piece = /** @type {DocumentFragment} */ (blank.content.cloneNode(true));
    this.root = /** @type {HTMLElement} */ (piece.querySelector("li"));
    this.progress = /** @type {HTMLProgressElement} */ (this.root.querySelector("progress"));
    this.preview();
    for (const name of /** @type {const} */ (["message", "alt"])) {
      const area = /** @type {HTMLTextAreaElement} */ (this.root.querySelector(`[name="${name}"]`));
      area.value = draft[name];
      area.addEventListener("input", () => {
        draft[name] = area.value;
        store(draft);
      });
    }
    this.button("remove").addEventListener("click", () => this.remove());
    this.button("cancel").addEventListener("click", () => this.sending?.abort());
    this.button("retry").addEventListener("click", () => sendAll([this]));
    this.state("idle");
  }

  preview() {
    const image = /** @type {HTMLImageElement} */ (this.root.querySelector("img"));
    const url = URL.createObjectURL(this.draft.file);
    image.addEventListener("load", () => URL.revokeObjectURL(url));
    image.addEventListener("error", () => {
      URL.revokeObjectURL(url);
      image.hidden = true;
      const name = /** @type {HTMLElement} */ (image.nextElementSibling);
      name.textContent = `${this.draft.name}\n${say("no_preview")}`;
      name.hidden = false;
    });
    image.src = url;
  }

  /** @param {string} name */
  button(name) {
    return /** @type {HTMLButtonElement} */ (this.root.querySelector(`[data-do="${name}"]`));
  }

  /**
   * @param {"idle" | "waiting" | "sending" | "processing" | "failed" | "queued"} state
   * @param {string} [text]
   */
  state(state, text = "") {
    this.root.dataset.state = state;
    const active = state === "waiting" || state === "sending" || state === "processing";
    const line = /** @type {HTMLElement} */ (this.root.querySelector(".draft-state"));
    line.hidden = !active;
    /** @type {HTMLElement} */ (line.querySelector("span")).textContent = active ? text : "";
    /** @type {HTMLElement} */ (this.root.querySelector(".problem")).textContent = active ? "" : text;
    this.button("remove").hidden = active;
    // Once everything has left, the post may be made at any moment: too late to call it back.
    this.button("cancel").hidden = state !== "sending";
    this.button("retry").hidden = state !== "failed" && state !== "queued";
    for (const area of this.root.querySelectorAll("textarea")) area.readOnly = active;
  }

  async remove() {
    rows.delete(this.draft.key);
    this.root.remove();
    review();
    await store(this.draft, false);
    (/** @type {HTMLElement | null} */ (list.querySelector("textarea")) ?? document.getElementById("files"))?.focus();
  }

  /** @returns {Promise<string | undefined>} what was taken out of the photo; nothing when it was not posted */
  async send() {
    this.sending = new AbortController();
    this.progress.value = 0;
    this.state("sending", say("sending", { percent: 0 }));
    const progress = (/** @type {number} */ percent) => {
      this.progress.value = percent;
      // In steps: a screen reader reads each of them out.
      if (percent < 100) this.state("sending", say("sending", { percent: 10 * Math.floor(percent / 10) }));
      else this.state("processing", say("processing"));
    };
    try {
      const { post, removed, before } = await send(this.draft, progress, this.sending.signal);
      // An earlier attempt had arrived after all, perhaps with other words.
      const { message, alt } = this.draft;
      if (before && ((post.message ?? "") !== message || (post.photo.alt ?? "") !== alt)) {
        await call("PATCH", `/posts/${post.id}`, { message, alt });
      }
      rows.delete(this.draft.key);
      await store(this.draft, false);
      this.root.remove();
      return removed;
    } catch (error) {
      await this.fail(error);
      return undefined;
    } finally {
      this.sending = undefined;
    }
  }

  /** @param {unknown} error */
  async fail(error) {
    if (error instanceof DOMException && error.name === "AbortError") return this.state("idle", say("cancelled"));
    if (!(error instanceof Failure)) return this.state("failed", say("failed", { reason: String(error) }));
    if (error.status !== 0) return this.state("failed", error.message);
    // Without a network it waits on this device, and goes by itself when the network is back.
    this.draft.queued = true;
    const kept = await store(this.draft);
    this.state("queued", kept ? say("queued") : error.message);
    if (!kept) return;
    const worker = await navigator.serviceWorker?.getRegistration();
    // Where the browser can, it even goes when this page is closed.
    await /** @type {any} */ (worker)?.sync?.register("drafts").catch(() => undefined);
  }
}

/**
 * Keeps a draft for the next visit. Without storage (a private window) it lives as long as this page.
 * @param {import("./drafts.js").Draft} draft
 * @param {boolean} [wanted]
 */
async function store(draft, wanted = true) {
  try {
    await (wanted ? keep(draft) : forget(draft.key));
    return true;
  } catch (error) {
    console.info("drafts cannot be kept on this device", error);
    return false;
  }
}

/** @param {Iterable<File>} files */
async function add(files) {
  const refused = [];
  for (const file of files) {
    if (file.size > max) refused.push(say("too_large", { name: file.name, max: `${Math.round(max / 1048576)} MiB` }));
    else if (file.type && !file.type.startsWith("image/")) refused.push(say("not_an_image", { name: file.name }));
    else {
      const draft = newDraft(file, file.name, me);
      show(draft);
      await store(draft);
    }
  }
  problem.textContent = refused.join(" ");
}

/** @param {import("./drafts.js").Draft} draft */
function show(draft) {
  const row = new Row(draft);
  rows.set(draft.key, row);
  list.append(row.root);
  if (draft.queued) row.state("queued", say("queued"));
  review();
}

function review() {
  sendRow.hidden = rows.size === 0;
  for (const [index, { root, progress }] of [...rows.values()].entries()) {
    for (const named of [root, progress]) named.setAttribute("aria-label", say("draft", { number: index + 1 }));
  }
}

/** @param {Row[]} chosen */
async function sendAll(chosen) {
  const button = /** @type {HTMLButtonElement} */ (sendRow.querySelector("button"));
  button.disabled = true;
  for (const row of chosen) row.state("waiting", say("waiting"));
  let located = false;
  // One after another: each progress is honest, and the first is there soonest.
  for (const row of chosen) located = Boolean((await row.send())?.includes("gps")) || located;
  button.disabled = false;
  review();
  if (rows.size > 0) return;
  toastLater(located ? `${say("all_posted")} ${say("removed_location")}` : say("all_posted"));
  location.assign("/");
}

compose.addEventListener("submit", (event) => {
  event.preventDefault();
  sendAll([...rows.values()]);
});

for (const id of ["files", "camera"]) {
  const input = /** @type {HTMLInputElement} */ (document.getElementById(id));
  input.addEventListener("change", async () => {
    await add(input.files ?? []);
    input.value = "";
  });
}

// The page announces what was dropped or pasted anywhere on it.
document.addEventListener("pinhole:photos", (event) => {
  event.preventDefault();
  add(/** @type {CustomEvent<File[]>} */ (event).detail);
});

// Another tab or the service worker may have sent what waited here.
document.addEventListener("pinhole:flushed", async () => {
  const left = new Map((await all(me)).map((draft) => [draft.key, draft]));
  for (const [key, row] of rows) {
    if (!row.draft.queued || row.sending) continue;
    const kept = left.get(key);
    if (kept?.queued) continue;
    row.draft.queued = false;
    if (kept) {
      row.state("failed", say("refused"));
      continue;
    }
    rows.delete(key);
    row.root.remove();
  }
  review();
});

all(me).then(
  (drafts) => {
    for (const draft of drafts) {
      draft.by = me;
      show(draft);
    }
    if (location.search === "?shared" && drafts.length === 0) problem.textContent = say("shared_lost");
  },
  (error) => console.info("drafts cannot be kept on this device", error),
);
