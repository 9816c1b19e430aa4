// The list of who likes a post.

import { call, messageOf } from "./api.js";
import { renderAvatar } from "./avatar.js";
import { t } from "./i18n.js";
import { toast } from "./toast.js";

const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("likers"));
const list = /** @type {HTMLElement} */ (dialog.querySelector("ul"));
const more = /** @type {HTMLButtonElement} */ (dialog.querySelector("[data-next]"));

/** The URL of the next page. */
let next = "";

/** Whether the post has likes: the list leaves out those of blocked people. */
let isLiked = false;

/** @param {string} url */
async function load(url) {
  const { body } = await call("GET", url);
  const { data, paging } = /** @type {{ data: import("./api.js").User[], paging: { next?: string } }} */ (body);
  list.append(...data.map(item));
  if (!list.children.length) list.textContent = t(isLiked ? "likes_left_out" : "no_likes");
  next = paging.next ? new URL(paging.next).pathname + new URL(paging.next).search : "";
  more.hidden = !next;
  more.textContent = t("more");
}

/** @param {import("./api.js").User} user */
function item({ username, photo }) {
  const link = Object.assign(document.createElement("a"), { href: `/@${username}` });
  const avatar = Object.assign(document.createElement("span"), { className: "avatar", ariaHidden: "true" });
  renderAvatar(avatar, username, photo?.id);
  link.append(avatar, username);
  const entry = document.createElement("li");
  entry.append(link);
  return entry;
}

/** @param {string} url */
async function show(url) {
  try {
    await load(url);
    if (!dialog.open) dialog.showModal();
  } catch (error) {
    toast(messageOf(error));
  }
}

document.addEventListener("click", ({ target }) => {
  const element = /** @type {Element} */ (target);
  if (element === dialog || element.closest("#likers [data-close]")) return dialog.close();
  if (element.closest("#likers [data-next]")) return void show(next);
  const post = /** @type {HTMLElement | null} */ (element.closest('[data-slot="likers"]')?.closest("[data-post]"));
  if (!post) return;
  list.replaceChildren();
  isLiked = post.querySelector('[data-slot="likes"]')?.textContent !== "0";
  show(`/posts/${post.dataset.post}/likes`);
});
