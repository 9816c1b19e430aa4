// Uploads with progress events. XMLHttpRequest because `fetch` does not report upload progress.

import { ApiError, responseError } from "./api.js";
import { postDraft } from "./drafts.js";
import { answered, noResponse } from "./network.js";

/** A request without progress for so long has lost its network: a change of it need not close the connection. */
const STALLED_MS = 30_000;
/** The same once all is sent, while the server waits for its turn and reads the photo. */
const PROCESSING_MS = 180_000;

/**
 * @param {"POST" | "PUT"} method
 * @param {string} path
 * @param {FormData} form
 * @param {Record<string, string>} headers
 * @param {(percent: number) => void} progress
 * @param {AbortSignal} [signal]
 * @returns {Promise<XMLHttpRequest>} a request that succeeded
 */
export const send = async (method, path, form, headers, progress, signal) =>
  succeeded(await exchange(signal, method, path, headers, form, progress));

/** @template {import("./drafts.js").Reply} R @param {R} reply @returns {R} */
function succeeded(reply) {
  if (reply.status < 300) return reply;
  throw responseError(reply.status, (name) => reply.getResponseHeader(name), reply.response ?? {});
}

/**
 * @param {AbortSignal | undefined} signal
 * @param {Parameters<import("./drafts.js").SendRequest>} request
 * @returns {Promise<XMLHttpRequest>} a request with a response, of any status
 */
function exchange(signal, ...[method, path, headers, body, progress]) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const request = new XMLHttpRequest();
    request.open(method, path);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.responseType = "json";
    /** @type {number | undefined} */
    let stall;
    let isStalled = false;
    const watch = (/** @type {number} */ milliseconds) => {
      clearTimeout(stall);
      stall = setTimeout(() => {
        isStalled = true;
        request.abort();
      }, milliseconds);
    };
    watch(STALLED_MS);
    request.upload.onprogress = (event) => {
      watch(STALLED_MS);
      progress?.((100 * event.loaded) / event.total);
    };
    request.upload.onload = () => watch(PROCESSING_MS);
    const noNetwork = () => reject(new ApiError(noResponse(), 0));
    request.onload = () => {
      answered(request.status, (name) => request.getResponseHeader(name));
      resolve(request);
    };
    request.onerror = noNetwork;
    request.onabort = () => (isStalled ? noNetwork() : reject(new DOMException("", "AbortError")));
    request.onloadend = () => clearTimeout(stall);
    signal?.addEventListener("abort", () => request.abort());
    request.send(body);
  });
}

/**
 * @param {import("./drafts.js").Draft} draft
 * @param {(percent: number) => void} progress
 * @param {AbortSignal} signal
 * @returns {Promise<{ post: import("./api.js").Post, removed: string }>}
 */
export async function upload(draft, progress, signal) {
  const reply = succeeded(await postDraft(draft, (...request) => exchange(signal, ...request), progress));
  const removed = reply.getResponseHeader("x-removed-metadata") ?? "";
  return { post: reply.response, removed };
}
