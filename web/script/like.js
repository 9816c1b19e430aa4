// Likes: by button, by double tap, by the key L while a post has the focus. Shown at once, taken back if refused.

import { Failure, call } from "./api.js";
import { toast, toastLater } from "./toast.js";
import { say } from "./words.js";

/** How long a second tap may take. */
const TWICE = 300;

/** What the server holds, for posts that were touched. @type {Map<string, boolean>} */
const held = new Map();
/** Posts with a request under way. @type {Set<string>} */
const busy = new Set();

/**
 * @param {HTMLElement} post
 * @param {boolean} [want] the opposite of now, unless told
 */
function like(post, want) {
  const button = /** @type {HTMLElement} */ (post.querySelector('[data-slot="like"]'));
  if (button instanceof HTMLAnchorElement) {
    button.click();
    return;
  }
  const id = post.dataset.post ?? "";
  const now = isLiked(post);
  if (!held.has(id)) held.set(id, now);
  if ((want ?? !now) === now) return;
  show(post, !now);
  if (!busy.has(id)) settle(post, id);
}

/** Asks until the server holds what the reader sees, one request at a time. @param {HTMLElement} post @param {string} id */
async function settle(post, id) {
  busy.add(id);
  while (held.get(id) !== isLiked(post)) {
    const want = isLiked(post);
    try {
      await call(want ? "POST" : "DELETE", `/posts/${id}/likes`);
    } catch (error) {
      const failure = error instanceof Failure ? error : new Failure(String(error), 0);
      // It was so already: in another window, perhaps.
      if (failure.status !== 409) {
        if (isLiked(post) === want) show(post, !want);
        if (failure.status === 401) {
          toastLater(failure.message);
          location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
          break;
        }
        toast(say(want ? "like_failed" : "unlike_failed", { reason: failure.message }));
        break;
      }
    }
    held.set(id, want);
  }
  busy.delete(id);
}

/** @param {HTMLElement} post */
function isLiked(post) {
  return post.querySelector('[data-slot="like"]')?.getAttribute("aria-pressed") === "true";
}

/** @param {HTMLElement} post @param {boolean} liked */
function show(post, liked) {
  post.querySelector('[data-slot="like"]')?.setAttribute("aria-pressed", String(liked));
  const count = /** @type {HTMLElement} */ (post.querySelector('[data-slot="likes"]'));
  count.textContent = String(Math.max(0, Number(count.textContent) + (liked ? 1 : -1)));
}

/** @param {HTMLElement} post */
function likeByTap(post) {
  like(post, true);
  const heart = post.querySelector(".burst");
  if (!heart || !document.body.dataset.me) return;
  heart.classList.remove("go");
  // Reading a size makes the browser forget the animation, so that it can run again.
  heart.getBoundingClientRect();
  heart.classList.add("go");
}

/** @type {{ post: HTMLElement, timer: number } | undefined} */
let tapped;

document.addEventListener("click", (event) => {
  const target = /** @type {Element} */ (event.target);
  const post = /** @type {HTMLElement | null} */ (target.closest("article[data-post]"));
  if (!post) return;
  if (target.closest("button.like")) return like(post);
  const photo = target.closest(".photo");
  // The keyboard, a second tab and the like mean what they always mean.
  const plain = event.detail > 0 && event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  if (!photo || !plain) return;
  event.preventDefault();
  if (tapped?.post === post) {
    clearTimeout(tapped.timer);
    tapped = undefined;
    return likeByTap(post);
  }
  clearTimeout(tapped?.timer);
  const open = () => {
    tapped = undefined;
    if (photo instanceof HTMLAnchorElement) location.assign(photo.href);
  };
  tapped = { post, timer: setTimeout(open, TWICE) };
});

document.addEventListener("keydown", (event) => {
  const target = /** @type {Element} */ (event.target);
  // Only while a post has the focus: a single letter must not act from just anywhere.
  const post = /** @type {HTMLElement | null} */ (target.closest("article[data-post]"));
  if (!post || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const key = event.key.toLowerCase();
  if (key === "l") like(post);
  const other = key === "j" ? post.nextElementSibling : key === "k" ? post.previousElementSibling : null;
  if (!(other instanceof HTMLElement)) return;
  other.focus({ preventScroll: true });
  other.scrollIntoView({ block: "start" });
});
