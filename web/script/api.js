// Calls to the public HTTP API.

import { refusal, t } from "./i18n.js";
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
  const response = await request(method, path, form, headers);
  return { status: response.status, headers: response.headers, body: await response.json().catch(() => ({})) };
}

/** A part of a page. @param {string} path */
export async function text(path) {
  return (await request("GET", path)).text();
}

/**
 * @param {string} method
 * @param {string} path
 * @param {Record<string, string> | FormData} [form]
 * @param {Record<string, string>} [headers]
 */
async function request(method, path, form, headers = {}) {
  const body = form instanceof FormData || !form ? form : new URLSearchParams(form);
  let response;
  try {
    response = await fetch(path, { method, body, headers: { accept: "application/json", ...headers } });
  } catch {
    throw new ApiError(noResponse(), 0);
  }
  answered(response.status, (name) => response.headers.get(name));
  if (response.ok) return response;
  throw responseError(response.status, (name) => response.headers.get(name), await response.json().catch(() => ({})));
}

/**
 * An error response with its sentence. The server's own message is for programs, in English.
 * @param {number} status
 * @param {(name: string) => string | null} header
 * @param {{ error?: { message?: string, field?: string } }} body
 */
export function responseError(status, header, body) {
  const code = header("x-error-code") ?? (status === 404 ? "not_found" : status < 500 ? "bad_request" : "internal");
  const [reason, limit] = (header("x-error-reason") ?? "").split(";limit=");
  const { message, field } = body.error ?? {};
  const text = refusal(reason, Number(limit)) ?? refusal(code) ?? t("failed");
  // What the operator's hook says about a photo.
  const said = reason === "photo_not_allowed" ? message?.split(": ").slice(1).join(": ") : "";
  return new ApiError(said ? `${text} ${said}` : text, status, field, code);
}

/** What to say about a failure. @param {unknown} cause */
export function messageOf(cause) {
  if (cause instanceof ApiError) return cause.message;
  console.error(cause);
  return t("failed");
}
