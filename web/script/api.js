// The service's API, used like any other client would.

import { say } from "./words.js";

/**
 * @typedef {{ id: string, width: number, height: number, placeholder: string, alt?: string }} Photo
 * @typedef {{ id: number, username: string, photo: Photo | null, created_at: string }} User
 * @typedef {{ id: number, photo: Photo, message?: string, user: User, created_at: string, is_liked: boolean, like_count: number }} Post
 * @typedef {{ data: Post[], paging: { next?: string } }} FeedPage
 */

/** Why a request came to nothing, in words for the reader. */
export class Failure extends Error {
  /**
   * @param {string} message
   * @param {number} status 0 when no answer came at all
   * @param {string} [field]
   */
  constructor(message, status, field) {
    super(message);
    this.status = status;
    this.field = field;
  }
}

/**
 * @param {string} method
 * @param {string} path
 * @param {Record<string, string> | FormData} [form]
 * @param {Record<string, string>} [headers]
 * @returns {Promise<{ status: number, headers: Headers, body: any }>}
 */
export async function call(method, path, form, headers = {}) {
  const body = form instanceof FormData || !form ? form : new URLSearchParams(form);
  let answer;
  try {
    answer = await fetch(path, { method, body, headers: { accept: "application/json", ...headers } });
  } catch {
    throw new Failure(say("no_network"), 0);
  }
  const json = await answer.json().catch(() => ({}));
  if (!answer.ok) throw refusal(answer.status, answer.headers.get("x-error-code"), json);
  return { status: answer.status, headers: answer.headers, body: json };
}

const SENTENCES = /** @type {Record<string, string>} */ ({
  unauthorized: "signed_out",
  wrong_credentials: "wrong_credentials",
  forbidden: "not_yours",
  cross_site: "cross_site",
  rate_limited: "rate_limited",
  busy: "busy",
  not_ready: "busy",
  internal: "broken",
});

/**
 * The reader's own words where we have them; else what the server said.
 * @param {number} status
 * @param {string | null} code
 * @param {{ error?: { message?: string, field?: string } }} body
 */
export function refusal(status, code, body) {
  const { message, field } = body.error ?? {};
  const known = SENTENCES[code ?? ""] ?? (status === 404 ? "gone" : status >= 500 ? "broken" : undefined);
  return new Failure(known ? say(known) : message || say("broken"), status, field);
}
