// Renders an avatar as `partials/avatar.html` does, for users from the API.

/** The hues of letter avatars in the style sheet. */
const HUES = 8;

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
