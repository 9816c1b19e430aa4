// Photos that are not posted yet, kept on this device: chosen, shared to us, or waiting for the network.
// The service worker uses this file as well, so it touches no page.

/**
 * @typedef {{ key: string, by: string, file: Blob, name: string, message: string, alt: string, queued: boolean, at: number }} Draft
 */

/**
 * @param {Blob} file
 * @param {string} name
 * @param {string} by whose it is; empty when that is not known yet
 * @param {string} [message]
 * @returns {Draft}
 */
export function draft(file, name, by, message = "") {
  // Names the upload for the server too: sent twice under one key it is posted once.
  const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
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
async function within(mode, work) {
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
export const keep = (draft) => within("readwrite", (store) => store.put(draft));

/** @param {string} key */
export const forget = (key) => within("readwrite", (store) => store.delete(key));

/** What this person left here, oldest first: a device may have several readers. @param {string} me @returns {Promise<Draft[]>} */
export async function all(me) {
  const drafts = /** @type {Draft[]} */ (await within("readonly", (store) => store.getAll()));
  return drafts.filter(({ by }) => !by || by === me).sort((one, other) => one.at - other.at);
}

/** The form a draft is sent as. @param {Draft} draft */
export function form(draft) {
  const form = new FormData();
  // Text first: the server reads it while the photo is still on its way.
  if (draft.message) form.append("message", draft.message);
  if (draft.alt) form.append("alt", draft.alt);
  form.append("photo", draft.file, draft.name);
  return form;
}

/**
 * Sends what waits for the network. Whatever the server refuses goes back to the drafts, for its owner to see.
 * @returns {Promise<number>} how many were posted
 */
export async function flush() {
  let posted = 0;
  // A page may be older than the session: what one person left must not go out in another's name.
  const who = await fetch("/me", { headers: { accept: "application/json" } });
  const me = who.ok ? (await who.json()).username : "";
  if (!me) return 0;
  for (const waiting of (await all(me)).filter((draft) => draft.queued)) {
    let answer;
    try {
      answer = await fetch("/posts", { method: "POST", body: form(waiting), headers: { "Idempotency-Key": waiting.key } });
    } catch {
      break;
    }
    if (answer.ok) {
      // An earlier attempt had arrived after all, perhaps with other words.
      if (answer.headers.get("idempotency-replayed") === "true") await mend((await answer.json()).id, waiting);
      await forget(waiting.key);
      posted += 1;
    } else if (answer.status < 500 && answer.status !== 429) {
      await keep({ ...waiting, queued: false });
    } else break;
  }
  return posted;
}

/** @param {number} id @param {Draft} draft */
function mend(id, { message, alt }) {
  return fetch(`/posts/${id}`, { method: "PATCH", body: new URLSearchParams({ message, alt }) });
}
