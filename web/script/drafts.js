// Drafts: photos that are not posted yet, stored in IndexedDB. A queued draft is posted when the network is
// back. The service worker imports this module too, so it must not touch the DOM.

/**
 * @typedef {object} Draft
 * @property {string} key also the upload's idempotency key
 * @property {string} by the author's username; empty when unknown, as for photos shared by the system
 * @property {Blob} file
 * @property {string} name of the file
 * @property {string} message
 * @property {string} alt
 * @property {string} [focus] the point that squares are cut around
 * @property {boolean} [share_original]
 * @property {boolean} queued
 * @property {number} at when it was created, in milliseconds since the epoch
 * @property {{ url: string, head: string }} [upload] one that has begun, with what precedes the photo in its body
 *
 * @typedef {{ status: number, getResponseHeader: (name: string) => string | null, response: any }} Reply
 * @typedef {(method: string, path: string, headers: Record<string, string>, body?: FormData | Blob,
 *   progress?: (percent: number) => void) => Promise<Reply>} SendRequest fails if there is no response
 */

/** Larger files are sent in pieces. */
const MAX_WHOLE = 1 << 20;
/** Small: a browser whose connection was cut may send a piece twice. */
const PIECE = 1 << 20;

/** Failures without progress in between, after which an upload is given up for now. */
const MAX_FAILURES = 4;

/**
 * @param {Blob} file
 * @param {string} name
 * @param {string} by
 * @param {string} [message]
 * @returns {Draft}
 */
export function newDraft(file, name, by, message = "") {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const key = Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
  return { key, by, file, name, message, alt: "", queued: false, at: Date.now() };
}

/** @returns {Promise<IDBDatabase>} */
function open() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open("pinhole", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("drafts", { keyPath: "key" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/**
 * @template T
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest<T>} work
 * @returns {Promise<T>}
 */
async function inTransaction(mode, work) {
  const database = await open();
  try {
    return await new Promise((resolve, reject) => {
      const transaction = database.transaction("drafts", mode);
      const request = work(transaction.objectStore("drafts"));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = transaction.onerror = () => reject(transaction.error);
    });
  } finally {
    database.close();
  }
}

/** @param {Draft} draft */
export const saveDraft = (draft) => inTransaction("readwrite", (store) => store.put(draft));

/** @param {string} key */
export const deleteDraft = (key) => inTransaction("readwrite", (store) => store.delete(key));

/**
 * The drafts of a user, oldest first. Several users may share one device.
 * @param {string} me
 * @returns {Promise<Draft[]>}
 */
export async function draftsOf(me) {
  const drafts = /** @type {Draft[]} */ (await inTransaction("readonly", (store) => store.getAll()));
  return drafts.filter(({ by }) => !by || by === me).sort((one, other) => one.at - other.at);
}

/** The body of `POST /posts`. @param {Draft} draft */
export function toFormData(draft) {
  const form = new FormData();
  // Text fields first: the server parses them while the photo is still uploading.
  if (draft.message) form.append("message", draft.message);
  if (draft.alt) form.append("alt", draft.alt);
  if (draft.focus) form.append("focus", draft.focus);
  if (draft.share_original) form.append("share_original", "true");
  form.append("photo", draft.file, draft.name);
  return form;
}

/**
 * Posts a draft. If an earlier attempt has created the post, it is edited to what the draft is by now.
 * @param {Draft} draft
 * @param {SendRequest} send
 * @param {(percent: number) => void} [progress]
 * @returns {Promise<Reply>} with the post
 */
export async function postDraft(draft, send, progress) {
  const reply = await sendDraft(draft, send, progress);
  const post = reply.status === 422 && reply.getResponseHeader("location");
  if (!post) return reply;
  const { message, alt, focus = "0.5,0.5", share_original } = draft;
  const form = new FormData();
  const edit = { message, alt, focus, share_original: `${!!share_original}` };
  for (const [name, value] of Object.entries(edit)) form.append(name, value);
  return send("PATCH", post, {}, form);
}

/**
 * A large one in pieces: an interrupted upload continues where it stopped.
 * @type {typeof postDraft}
 */
async function sendDraft(draft, send, progress) {
  const { key, file, message, alt, focus, share_original } = draft;
  if (file.size <= MAX_WHOLE) return send("POST", "/posts", { "Idempotency-Key": key }, toFormData(draft), progress);
  const part = (/** @type {string} */ name) => `--${key}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`;
  const texts = Object.entries({ message, alt, focus, share_original }).filter(([, value]) => value);
  const head = texts.map(([name, value]) => `${part(name)}${value}\r\n`).join("") + part("photo");
  const body = new Blob([head, file, `\r\n--${key}--\r\n`]);
  // A negative offset is unknown.
  for (let offset = -1, failures = 0; ; ) {
    let reply;
    let failure;
    try {
      if (draft.upload?.head !== head) {
        // The first attempt, or the texts were edited since.
        reply = await send("POST", "/posts", {
          "Idempotency-Key": key,
          "Content-Type": `multipart/form-data; boundary=${key}`,
          "Upload-Complete": "?0",
          "Upload-Length": `${body.size}`,
        });
        const url = reply.getResponseHeader("location");
        if (url) await saveDraft(Object.assign(draft, { upload: { url, head } })).catch(() => undefined);
      } else if (offset < 0) reply = await send("HEAD", draft.upload.url, {});
      else {
        const start = offset;
        const piece = body.slice(start, start + PIECE);
        const headers = {
          "Content-Type": "application/partial-upload",
          "Upload-Offset": `${start}`,
          "Upload-Complete": start + piece.size < body.size ? "?0" : "?1",
        };
        const sent = (/** @type {number} */ percent) => progress?.((100 * start + percent * piece.size) / body.size);
        reply = await send("PATCH", draft.upload.url, headers, piece, sent);
      }
      const stored = Number(reply.getResponseHeader("upload-offset") ?? -1);
      if (stored > offset) failures = 0;
      offset = stored;
      if (stored >= 0) continue;
      // The upload has expired.
      if (reply.status === 404) draft.upload = undefined;
      else if (reply.status === 507 || (reply.status < 500 && reply.status !== 408)) return reply;
    } catch (error) {
      if (error instanceof DOMException) throw error;
      failure = error;
      offset = -1;
    }
    // No network, or the service restarts.
    failures += 1;
    if (failures > MAX_FAILURES && reply) return reply;
    if (failures > MAX_FAILURES) throw failure;
    await new Promise((resolve) => setTimeout(resolve, 1000 * failures));
  }
}

/** @type {SendRequest} */
async function fetchReply(method, path, headers, body) {
  const response = await fetch(path, { method, headers, body });
  const json = await response.json().catch(() => undefined);
  return { status: response.status, getResponseHeader: (name) => response.headers.get(name), response: json };
}

/**
 * Posts the queued drafts. A draft that the server rejects leaves the queue, and the composer shows it again.
 * @returns {Promise<number>} how many were posted
 */
export async function flushQueue() {
  let posted = 0;
  // The session may have changed since the page loaded: a draft must not be posted as another user.
  const session = await fetch("/me", { headers: { accept: "application/json" } });
  const me = session.ok ? (await session.json()).username : "";
  if (!me) return 0;
  for (const draft of (await draftsOf(me)).filter(({ queued }) => queued)) {
    let reply;
    try {
      reply = await postDraft(draft, fetchReply);
    } catch {
      break;
    }
    if (reply.status < 300) {
      await deleteDraft(draft.key);
      posted += 1;
    } else if (reply.status < 500 && reply.status !== 429) {
      await saveDraft({ ...draft, queued: false });
    } else break;
  }
  return posted;
}
