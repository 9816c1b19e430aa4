// Uploads one draft with progress events. XMLHttpRequest because `fetch` does not report upload progress.

import { ApiError, responseError } from "./api.js";
import { toFormData } from "./drafts.js";
import { t } from "./i18n.js";

/**
 * @param {import("./drafts.js").Draft} draft
 * @param {(percent: number) => void} progress
 * @param {AbortSignal} signal
 * @returns {Promise<{ post: import("./api.js").Post, removed: string, replayed: boolean }>}
 */
export function upload(draft, progress, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/posts");
    request.setRequestHeader("Idempotency-Key", draft.key);
    request.responseType = "json";
    request.upload.onprogress = (event) => progress((100 * event.loaded) / event.total);
    request.onload = () => {
      if (request.status !== 201) {
        return reject(responseError(request.status, request.getResponseHeader("x-error-code"), request.response ?? {}));
      }
      const removed = request.getResponseHeader("x-removed-metadata") ?? "";
      const replayed = request.getResponseHeader("idempotency-replayed") === "true";
      resolve({ post: request.response, removed, replayed });
    };
    request.onerror = () => reject(new ApiError(t("no_network"), 0));
    request.onabort = () => reject(new DOMException("", "AbortError"));
    signal.addEventListener("abort", () => request.abort());
    request.send(toFormData(draft));
  });
}
