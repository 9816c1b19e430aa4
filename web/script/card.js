// Posts that come by the API, poured into the page's own blank card or tile.

import { haze } from "./thumbhash.js";
import { tellTimes } from "./time.js";
import { say } from "./words.js";

/**
 * @param {HTMLTemplateElement} blank
 * @param {import("./api.js").Post} post
 * @returns {DocumentFragment}
 */
export function fill(blank, post) {
  const card = /** @type {DocumentFragment} */ (blank.content.cloneNode(true));
  const root = /** @type {HTMLElement} */ (card.querySelector("[data-post]"));
  const url = `/p/${post.id}`;
  root.dataset.post = String(post.id);
  const picture = /** @type {HTMLImageElement} */ (root.querySelector(".picture"));
  // The blank one has every address but for the photo's id.
  const address = (/** @type {string} */ text) => text.replaceAll("/photos//", `/photos/${post.photo.id}/`);
  picture.srcset = address(picture.srcset);
  picture.src = address(picture.getAttribute("src") ?? "");
  describe(picture, post);
  /** @type {HTMLImageElement} */ (root.querySelector(".haze")).src = haze(post.photo.placeholder);

  if (root instanceof HTMLAnchorElement) {
    root.href = url;
    return card;
  }
  const { username, photo } = post.user;
  root.dataset.by = username;
  const heading = /** @type {HTMLElement} */ (root.querySelector("h2"));
  heading.id = `by-${post.id}`;
  root.setAttribute("aria-labelledby", heading.id);
  for (const slot of ["open", "when"]) link(root, slot).href = url;
  link(root, "person").href = `/@${username}`;
  text(root, "name").textContent = username;
  face(/** @type {HTMLElement} */ (root.querySelector(".face")), username, photo?.id);
  const time = /** @type {HTMLTimeElement} */ (root.querySelector("time"));
  time.dateTime = post.created_at;
  tellTimes(root);
  const like = text(root, "like");
  if (like instanceof HTMLAnchorElement) like.href = `/login?next=${url}`;
  else like.setAttribute("aria-pressed", String(post.is_liked));
  text(root, "likes").textContent = String(post.like_count);
  tell(root, post);
  return card;
}

/**
 * Shows what an edit can change.
 * @param {HTMLElement} root
 * @param {import("./api.js").Post} post
 */
export function tell(root, post) {
  const message = text(root, "message");
  message.textContent = post.message ?? "";
  message.hidden = !post.message;
  describe(/** @type {HTMLImageElement} */ (root.querySelector(".picture")), post);
}

/**
 * A person's round picture, or the first letter of their name.
 * @param {HTMLElement} place
 * @param {string} username
 * @param {string | undefined} photo
 * @param {number} [side]
 */
export function face(place, username, photo, side = 64) {
  if (!photo) {
    place.textContent = username.slice(0, 1);
    return;
  }
  const image = document.createElement("img");
  const at = (/** @type {number} */ s) => `/photos/${photo}/${s}x${s}`;
  image.srcset = `${at(side)} 1x, ${at(2 * side)} 2x`;
  image.src = at(side);
  image.alt = "";
  place.replaceChildren(image);
}

/**
 * @param {HTMLImageElement} picture
 * @param {import("./api.js").Post} post
 */
function describe(picture, post) {
  picture.alt = post.photo.alt || say("photo_by", { name: post.user.username });
}

/**
 * @param {HTMLElement} root
 * @param {string} slot
 */
function text(root, slot) {
  return /** @type {HTMLElement} */ (root.querySelector(`[data-slot="${slot}"]`));
}

/**
 * @param {HTMLElement} root
 * @param {string} slot
 */
function link(root, slot) {
  return /** @type {HTMLAnchorElement} */ (text(root, slot));
}
