// Renders posts from the API into clones of the page's <template>: a card of the feed or a tile of a profile.

import { t } from "./i18n.js";
import { messageNodes, watchMessage } from "./message.js";
import { placeholderUrl } from "./thumbhash.js";
import { formatTimes } from "./time.js";

/** The hues of letter avatars in the style sheet. */
const HUES = 8;

/**
 * @param {HTMLTemplateElement} template
 * @param {import("./api.js").Post} post
 * @returns {DocumentFragment}
 */
export function renderPost(template, post) {
  const card = /** @type {DocumentFragment} */ (template.content.cloneNode(true));
  const root = /** @type {HTMLElement} */ (card.querySelector("[data-post]"));
  const url = `/p/${post.id}`;
  root.dataset.post = String(post.id);
  const picture = /** @type {HTMLImageElement} */ (root.querySelector(".picture"));
  // The template's image URLs lack only the photo's id.
  const withId = (/** @type {string} */ urls) => urls.replaceAll("/photos//", `/photos/${post.photo.id}/`);
  picture.srcset = withId(picture.srcset);
  picture.src = withId(picture.getAttribute("src") ?? "");
  setAlt(picture, post);
  /** @type {HTMLImageElement} */ (root.querySelector(".placeholder")).src = placeholderUrl(post.photo.placeholder);

  root.dataset.photo = post.photo.id;
  if (root instanceof HTMLAnchorElement) {
    root.href = url;
    return card;
  }
  const { username, photo } = post.user;
  root.dataset.author = username;
  // Ids and references of the template end where the post's id follows.
  for (const element of [root, ...root.querySelectorAll("[id]")]) {
    if (element.id) element.id += post.id;
    const labels = element.getAttribute("aria-labelledby");
    if (labels) element.setAttribute("aria-labelledby", labels.split(" ").map((id) => id + post.id).join(" "));
  }
  for (const name of ["photo", "timestamp"]) linkSlot(root, name).href = url;
  linkSlot(root, "author").href = `/@${username}`;
  slot(root, "name").textContent = username;
  renderAvatar(/** @type {HTMLElement} */ (root.querySelector(".avatar")), username, photo?.id);
  const time = /** @type {HTMLTimeElement} */ (root.querySelector("time"));
  time.dateTime = post.created_at;
  formatTimes(root);
  const like = slot(root, "like");
  if (like instanceof HTMLAnchorElement) like.href = `/login?next=${url}`;
  else like.setAttribute("aria-pressed", String(post.is_liked));
  slot(root, "likes").textContent = String(post.like_count);
  renderText(root, post);
  linkSlot(root, "read-more").href = url;
  /** @type {HTMLElement} */ (root.querySelector(".read-more .visually-hidden")).textContent = ` ${username}`;
  watchMessage(slot(root, "message"));
  return card;
}

/**
 * Renders the parts of a post that can be edited.
 * @param {HTMLElement} root
 * @param {import("./api.js").Post} post
 */
export function renderText(root, post) {
  const message = slot(root, "message");
  message.replaceChildren(...messageNodes(post.message ?? ""));
  message.hidden = !post.message;
  root.toggleAttribute("data-original", Boolean(post.share_original));
  const picture = /** @type {HTMLImageElement} */ (root.querySelector(".picture"));
  setAlt(picture, post);
  // A photo whose focus was moved has a new id.
  const { photo: before = "" } = root.dataset;
  if (before === post.photo.id) return;
  root.dataset.photo = post.photo.id;
  picture.srcset = picture.srcset.replaceAll(before, post.photo.id);
  picture.src = picture.src.replaceAll(before, post.photo.id);
}

/**
 * Renders a user's profile photo, or the first letter of the name.
 * @param {HTMLElement} avatar
 * @param {string} username
 * @param {string | undefined} photo
 * @param {number} [side] in CSS pixels
 */
export function renderAvatar(avatar, username, photo, side = 64) {
  avatar.removeAttribute("data-hue");
  if (!photo) {
    avatar.textContent = username.slice(0, 1);
    avatar.dataset.hue = String([...username].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0) % HUES);
    return;
  }
  const image = document.createElement("img");
  const url = (/** @type {number} */ s) => `/photos/${photo}/${s}x${s}`;
  image.srcset = `${url(side)} 1x, ${url(2 * side)} 2x`;
  image.src = url(side);
  image.alt = "";
  avatar.replaceChildren(image);
}

/**
 * @param {HTMLImageElement} picture
 * @param {import("./api.js").Post} post
 */
function setAlt(picture, post) {
  picture.alt = post.photo.alt || t("photo_by", { name: post.user.username });
}

/**
 * @param {HTMLElement} root
 * @param {string} name
 */
function slot(root, name) {
  return /** @type {HTMLElement} */ (root.querySelector(`[data-slot="${name}"]`));
}

/**
 * @param {HTMLElement} root
 * @param {string} name
 */
function linkSlot(root, name) {
  return /** @type {HTMLAnchorElement} */ (slot(root, name));
}
