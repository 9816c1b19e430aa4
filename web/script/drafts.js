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
 */

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
    let response;
    try {
      const headers = { "Idempotency-Key": draft.key };
      response = await fetch("/posts", { method: "POST", body: toFormData(draft), headers });
    } catch {
      break;
    }
    if (response.ok) {
      // A replay returns the post of an earlier attempt, whose text may have been edited since.
      if (response.headers.get("idempotency-replayed") === "true") await updateText((await response.json()).id, draft);
      await deleteDraft(draft.key);
      posted += 1;
    } else if (response.status < 500 && response.status !== 429) {
      await saveDraft({ ...draft, queued: false });
    } else break;
  }
  return posted;
}

/** @param {number} id @param {Draft} draft */
function updateText(id, { message, alt }) {
  return fetch(`/posts/${id}`, { method: "PATCH", body: new URLSearchParams({ message, alt }) });
}
