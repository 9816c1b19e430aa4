// Calls to the public HTTP API.

import { t } from "./i18n.js";
import { answered, noResponse } from "./network.js";

/**
 * @typedef {{ id: string, width: number, height: number, placeholder: string, alt?: string, focus?: { x: number, y: number } }} Photo
 * @typedef {{ id: number, username: string, photo: Photo | null, created_at: string }} User
 * @typedef {object} Post
 * @property {number} id
 * @property {Photo} photo
 * @property {string} [message]
 * @property {User} user
 * @property {string} created_at
 * @property {boolean} is_liked
 * @property {number} like_count
 * @property {boolean} [share_original]
 * @typedef {{ data: Post[], paging: { next?: string } }} FeedPage
 */

/** A failed request; the message is translated. */
export class ApiError extends Error {
  /**
   * @param {string} message
   * @param {number} status 0 when there was no response
   * @param {string} [field] the form field that the server rejected
   * @param {string | null} [code] the server's error code
   */
  constructor(message, status, field, code) {
    super(message);
    this.status = status;
    this.field = field;
    this.code = code;
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
  let response;
  try {
    response = await fetch(path, { method, body, headers: { accept: "application/json", ...headers } });
  } catch {
    throw new ApiError(noResponse(), 0);
  }
  answered(response.status, (name) => response.headers.get(name));
  const json = await response.json().catch(() => ({}));
  if (!response.ok) throw responseError(response.status, response.headers.get("x-error-code"), json);
  return { status: response.status, headers: response.headers, body: json };
}

/** The message of an error. @param {unknown} cause */
export function messageOf(cause) {
  return cause instanceof ApiError ? cause.message : t("failed", { reason: String(cause) });
}

/** Message keys by the server's error code. */
const MESSAGES = /** @type {Record<string, string>} */ ({
  unauthorized: "signed_out",
  wrong_credentials: "wrong_credentials",
  wrong_password: "wrong_password",
  wrong_recovery_code: "wrong_recovery_code",
  forbidden: "not_your_post",
  cross_site: "cross_site",
  account_suspended: "account_suspended",
  account_pending: "account_pending",
  rate_limited: "rate_limited",
  busy: "busy",
  not_ready: "busy",
  unavailable: "unavailable",
  no_space: "no_space",
  internal: "server_error",
  quota_exceeded: "quota_exceeded",
});

/** Message keys by the field that the server rejected, for languages in which it does not write. */
const REFUSALS = /** @type {Record<string, string>} */ ({
  photo: "photo_refused",
  message: "text_refused",
  alt: "text_refused",
  focus: "focus_refused",
});

/**
 * Translates an error response. The server's own message says more, but only in English.
 * @param {number} status
 * @param {string | null} code
 * @param {{ error?: { message?: string, field?: string } }} body
 */
export function responseError(status, code, body) {
  const { message, field } = body.error ?? {};
  const isEnglish = document.documentElement.lang.startsWith("en");
  const byStatus = status === 404 ? "post_deleted" : status >= 500 ? "server_error" : undefined;
  const key = (isEnglish && code === "quota_exceeded" ? undefined : MESSAGES[code ?? ""]) ?? byStatus;
  const refusal = isEnglish ? undefined : REFUSALS[field ?? ""];
  const text = key ?? refusal;
  return new ApiError(text ? t(text) : t("refused", { reason: message || t("server_error") }), status, field, code);
}
