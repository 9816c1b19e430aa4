// Uploads with progress events. XMLHttpRequest because `fetch` does not report upload progress.

import { ApiError, responseError } from "./api.js";
import { toFormData } from "./drafts.js";
import { t } from "./i18n.js";

/**
 * @param {"POST" | "PUT"} method
 * @param {string} path
 * @param {FormData} form
 * @param {Record<string, string>} headers
 * @param {(percent: number) => void} progress
 * @param {AbortSignal} [signal]
 * @returns {Promise<XMLHttpRequest>} a request that succeeded
 */
export function send(method, path, form, headers, progress, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, path);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.responseType = "json";
    request.upload.onprogress = (event) => progress((100 * event.loaded) / event.total);
    request.onload = () => {
      if (request.status < 300) return resolve(request);
      reject(responseError(request.status, request.getResponseHeader("x-error-code"), request.response ?? {}));
    };
    request.onerror = () => reject(new ApiError(t("no_network"), 0));
    request.onabort = () => reject(new DOMException("", "AbortError"));
    signal?.addEventListener("abort", () => request.abort());
    request.send(form);
  });
}

/**
 * @param {import("./drafts.js").Draft} draft
 * @param {(percent: number) => void} progress
 * @param {AbortSignal} signal
 * @returns {Promise<{ post: import("./api.js").Post, removed: string, replayed: boolean }>}
 */
export async function upload(draft, progress, signal) {
  const request = await send("POST", "/posts", toFormData(draft), { "Idempotency-Key": draft.key }, progress, signal);
  const removed = request.getResponseHeader("x-removed-metadata") ?? "";
  const replayed = request.getResponseHeader("idempotency-replayed") === "true";
  return { post: request.response, removed, replayed };
}
