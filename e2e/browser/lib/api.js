// People who use the API directly, to prepare what a browser is going to find.

import assert from "node:assert/strict";

export const PASSWORD = "correct horse battery";

/**
 * @typedef {{ id: number, message?: string, like_count: number, is_liked: boolean, photo: { id: string }, user: { username: string } }} Post
 */

export class Person {
  /** @param {string} base @param {string} username @param {string} token @param {string} cookie */
  constructor(base, username, token, cookie) {
    this.base = base;
    this.username = username;
    this.token = token;
    this.cookie = cookie;
  }

  /** @param {string} base @param {string} username */
  static async join(base, username) {
    const answer = await fetch(`${base}/join/username`, {
      method: "POST",
      body: new URLSearchParams({ username, password: PASSWORD }),
    });
    assert.equal(answer.status, 201, await answer.text());
    return new Person(base, username, answer.headers.get("x-auth-token") ?? "", answer.headers.getSetCookie()[0]);
  }

  /**
   * @param {Buffer} photo
   * @param {{ message?: string, alt?: string }} [words]
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
  look(id) {
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

  /** What a browser of this person carries. Attributes that only matter across sites are left to the server's own tests. */
  session() {
    const [pair] = this.cookie.split(";");
    const [name, ...value] = pair.split("=");
    return { name, value: value.join("="), url: this.base, httpOnly: true, sameSite: /** @type {const} */ ("Lax") };
  }

  /** @param {string} method @param {string} path @param {number} status @param {FormData} [body] */
  async call(method, path, status, body) {
    const answer = await fetch(this.base + path, { method, body, headers: { authorization: `Bearer ${this.token}` } });
    const text = await answer.text();
    assert.equal(answer.status, status, `${method} ${path}: ${text}`);
    return JSON.parse(text);
  }
}

/** All posts there are, newest first, as anybody sees them. @param {string} base @returns {Promise<Post[]>} */
export async function feed(base) {
  const posts = [];
  for (let next = `${base}/feed?limit=100`; next; ) {
    const answer = await fetch(next);
    assert.equal(answer.status, 200, next);
    const page = /** @type {{ data: Post[], paging: { next?: string } }} */ (await answer.json());
    posts.push(...page.data);
    next = page.paging.next ?? "";
  }
  return posts;
}
