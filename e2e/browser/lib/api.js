// Users who call the API directly, to set up the data of a test.

import assert from "node:assert/strict";

export const PASSWORD = "correct horse battery";

/**
 * @typedef {object} Post
 * @property {number} id
 * @property {string} [message]
 * @property {number} like_count
 * @property {boolean} is_liked
 * @property {{ id: string, width: number, height: number }} photo
 * @property {{ username: string }} user
 */

export class ApiUser {
  /** @param {string} base @param {string} username @param {string} token @param {string} cookie */
  constructor(base, username, token, cookie) {
    this.base = base;
    this.username = username;
    this.token = token;
    this.cookie = cookie;
  }

  /** @param {string} base @param {string} username */
  static async join(base, username) {
    return ApiUser.authenticate(base, "/join/username", username, PASSWORD);
  }

  /** @param {string} base @param {string} username @param {string} password */
  static async login(base, username, password) {
    return ApiUser.authenticate(base, "/login/username", username, password);
  }

  /** @param {string} base @param {string} path @param {string} username @param {string} password */
  static async authenticate(base, path, username, password) {
    const response = await fetch(base + path, { method: "POST", body: new URLSearchParams({ username, password }) });
    assert.ok(response.ok, await response.text());
    return new ApiUser(base, username, response.headers.get("x-auth-token") ?? "", response.headers.getSetCookie()[0]);
  }

  /**
   * @param {Buffer} photo
   * @param {{ message?: string, alt?: string }} [text]
   * @returns {Promise<Post>}
   */
  async post(photo, { message, alt } = {}) {
    const form = new FormData();
    form.set("photo", new Blob([new Uint8Array(photo)]), "photo.jpg");
    if (message !== undefined) form.set("message", message);
    if (alt !== undefined) form.set("alt", alt);
    return this.call("POST", "/posts", 201, form);
  }

  /** @param {number} id @returns {Promise<Post>} */
  getPost(id) {
    return this.call("GET", `/posts/${id}`, 200);
  }

  /** @param {number} id */
  like(id) {
    return this.call("POST", `/posts/${id}/likes`, 201);
  }

  /** @param {number} id */
  delete(id) {
    return this.call("DELETE", `/posts/${id}`, 200);
  }

  /** The session cookie for a browser context. Its cross-site attributes are tested in `e2e/tests`. */
  sessionCookie() {
    const [pair] = this.cookie.split(";");
    const [name, ...value] = pair.split("=");
    return { name, value: value.join("="), url: this.base, httpOnly: true, sameSite: /** @type {const} */ ("Lax") };
  }

  /** @param {string} method @param {string} path @param {number} status @param {FormData | URLSearchParams} [body] */
  async call(method, path, status, body) {
    const response = await fetch(this.base + path, { method, body, headers: { authorization: `Bearer ${this.token}` } });
    const text = await response.text();
    assert.equal(response.status, status, `${method} ${path}: ${text}`);
    return JSON.parse(text);
  }
}

/** All posts, newest first, as a guest sees them. @param {string} base @returns {Promise<Post[]>} */
export async function feed(base) {
  const posts = [];
  for (let next = `${base}/feed?limit=100`; next; ) {
    const response = await fetch(next);
    assert.equal(response.status, 200, next);
    const page = /** @type {{ data: Post[], paging: { next?: string } }} */ (await response.json());
    posts.push(...page.data);
    next = page.paging.next ?? "";
  }
  return posts;
}
