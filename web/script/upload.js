// Sending one photo, with its progress. `fetch` cannot tell how much of a body has left; this old friend can.

import { Failure, refusal } from "./api.js";
import { form } from "./drafts.js";
import { say } from "./words.js";

/**
 * @param {import("./drafts.js").Draft} draft
 * @param {(percent: number) => void} progress
 * @param {AbortSignal} signal
 * @returns {Promise<{ post: import("./api.js").Post, removed: string, before: boolean }>}
 */
export function send(draft, progress, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/posts");
    request.setRequestHeader("Idempotency-Key", draft.key);
    request.responseType = "json";
    request.upload.onprogress = (event) => progress((100 * event.loaded) / event.total);
    request.onload = () => {
      if (request.status !== 201) {
        return reject(refusal(request.status, request.getResponseHeader("x-error-code"), request.response ?? {}));
      }
      const removed = request.getResponseHeader("x-removed-metadata") ?? "";
      const before = request.getResponseHeader("idempotency-replayed") === "true";
      resolve({ post: request.response, removed, before });
    };
    request.onerror = () => reject(new Failure(say("no_network"), 0));
    request.onabort = () => reject(new DOMException("", "AbortError"));
    signal.addEventListener("abort", () => request.abort());
    request.send(form(draft));
  });
}
