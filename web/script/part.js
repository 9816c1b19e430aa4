// Posts as the server renders them, for lists that are open: its templates are the only ones.

import { text } from "./api.js";
import { formatTimes } from "./time.js";
import { parsePart } from "./trusted.js";

/** Shows the link to the rest of a message while it is cut. */
const cutMessages = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const more = /** @type {HTMLElement | null} */ (target.nextElementSibling);
    if (more) more.hidden = target.scrollHeight <= target.clientHeight + 1;
  }
});

/** @param {ParentNode} root */
function enliven(root) {
  for (const message of root.querySelectorAll(".feed .message")) cutMessages.observe(message);
}

/**
 * The posts of a page of the list, and the path of the next page.
 * @param {string} page its path
 * @param {number} limit
 * @returns {Promise<{ posts: HTMLElement[], next: string }>} the list's children
 */
export async function loadPosts(page, limit) {
  const address = new URL(page, location.href);
  address.searchParams.set("part", "posts");
  address.searchParams.set("limit", String(limit));
  const part = parsePart(await text(address.pathname + address.search));
  const list = /** @type {HTMLElement} */ (part.getElementById("post-list"));
  formatTimes(list);
  enliven(part);
  return { posts: /** @type {HTMLElement[]} */ ([...list.children]), next: list.dataset.next ?? "" };
}

/** The post of a list's child. @param {HTMLElement} child */
export function postOf(child) {
  return /** @type {HTMLElement} */ (child.matches("[data-post]") ? child : child.querySelector("[data-post]"));
}

/** Shows a post as it is now, after an edit. @param {HTMLElement} post */
export async function refreshPost(post) {
  const part = post.closest(".post-page") ? "post" : "posts";
  const fresh = /** @type {HTMLElement} */ (parsePart(await text(`/p/${post.dataset.post}?part=${part}`)).querySelector("[data-post]"));
  const moved = fresh.dataset.photo !== post.dataset.photo;
  post.dataset.photo = fresh.dataset.photo;
  post.toggleAttribute("data-original", fresh.dataset.original !== undefined);
  for (const selector of [".message", ".read-more", moved ? ".photo" : ""]) {
    const next = selector && fresh.querySelector(selector);
    if (next) post.querySelector(selector)?.replaceWith(next);
  }
  const picture = (/** @type {HTMLElement} */ root) => /** @type {HTMLImageElement | null} */ (root.querySelector(".picture"));
  const [shown, now] = [picture(post), picture(fresh)];
  if (shown && now) shown.alt = now.alt;
  if (post.closest(".feed")) cutMessages.observe(/** @type {Element} */ (post.querySelector(".message")));
}

enliven(document);
