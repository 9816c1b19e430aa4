// The list that a post was opened from, for stepping through it, and the photo that grows from it to the page.

const KEY = "pinhole-list";
const MAX_POSTS = 500;

/** @typedef {{ id: string, photo: string, alt: string }} ListedPost */

/** @returns {ListedPost[]} */
export function openedFrom() {
  return JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
}

function save() {
  const posts = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("#post-list [data-post]"));
  if (!posts.length) return;
  const listed = [...posts].slice(0, MAX_POSTS).map((post) => {
    const { post: id, photo } = post.dataset;
    return { id, photo, alt: /** @type {HTMLImageElement} */ (post.querySelector(".picture")).alt };
  });
  sessionStorage.setItem(KEY, JSON.stringify(listed));
}

/** The photo of the list that a URL opens. @param {string | null | undefined} url */
function photoAt(url) {
  const id = /^\/p\/(\d+)$/.exec(url ? new URL(url).pathname : "")?.[1];
  const post = id && document.querySelector(`#post-list [data-post="${id}"], .more-by [data-post="${id}"]`);
  const photo = post && (post.matches(".tile") ? post : post.querySelector(".photo"));
  return /** @type {HTMLElement | null} */ (photo || null);
}

/** Names the photo for the time of a view transition: the photo of a post's page has the same name. */
async function name(/** @type {any} */ transition, /** @type {string | null | undefined} */ url) {
  // A transition that is skipped rejects; that is no error.
  const finished = transition?.finished.catch(() => undefined);
  for (const step of [transition?.ready, transition?.updateCallbackDone]) step?.catch(() => undefined);
  const photo = transition && photoAt(url);
  if (!photo) return;
  // A name must be unique.
  const own = /** @type {HTMLElement | null} */ (document.querySelector(".post-page .photo"));
  if (own) own.style.viewTransitionName = "none";
  photo.style.viewTransitionName = "photo";
  await finished;
  photo.style.viewTransitionName = "";
  if (own) own.style.viewTransitionName = "";
}

addEventListener("pageswap", (event) => {
  const { viewTransition, activation } = /** @type {any} */ (event);
  name(viewTransition, activation?.entry?.url);
});
addEventListener("pagereveal", (event) => {
  const { viewTransition } = /** @type {any} */ (event);
  name(viewTransition, /** @type {any} */ (window).navigation?.activation?.from?.url);
});
addEventListener("pagehide", save);
