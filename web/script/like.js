// Likes: by button, by double tap, or by the key L while a post has the focus. An optimistic update: shown at
// once, and rolled back when the server rejects it.

import { ApiError, call, messageOf } from "./api.js";
import { t } from "./i18n.js";
import { toast, toastOnNextPage } from "./toast.js";

const DOUBLE_TAP_MS = 300;

/** The like state that the server confirmed last, by post id. @type {Map<string, boolean>} */
const confirmed = new Map();
/** Ids of posts with a request in flight. @type {Set<string>} */
const inFlight = new Set();

/**
 * @param {HTMLElement} post
 * @param {boolean} [want] toggles by default
 */
function like(post, want) {
  const button = /** @type {HTMLElement} */ (post.querySelector('[data-slot="like"]'));
  // A guest has a link to the login page instead of a button.
  if (button instanceof HTMLAnchorElement) {
    button.click();
    return;
  }
  const id = post.dataset.post ?? "";
  const now = isLiked(post);
  if (!confirmed.has(id)) confirmed.set(id, now);
  if ((want ?? !now) === now) return;
  show(post, !now);
  if (!inFlight.has(id)) synchronize(post, id);
}

/**
 * Sends requests, one at a time, until the server's state is the one on the screen.
 * @param {HTMLElement} post
 * @param {string} id
 */
async function synchronize(post, id) {
  inFlight.add(id);
  while (confirmed.get(id) !== isLiked(post)) {
    const want = isLiked(post);
    try {
      await call(want ? "POST" : "DELETE", `/posts/${id}/likes`);
    } catch (cause) {
      const error = cause instanceof ApiError ? cause : new ApiError(messageOf(cause), 0);
      // 409: the server already has this state, for instance from another tab.
      if (error.status !== 409) {
        if (isLiked(post) === want) show(post, !want);
        if (error.status === 401) {
          toastOnNextPage(error.message);
          location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
          break;
        }
        toast(t(want ? "like_failed" : "unlike_failed", { reason: error.message }));
        break;
      }
    }
    confirmed.set(id, want);
  }
  inFlight.delete(id);
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
function likeByDoubleTap(post) {
  like(post, true);
  const heart = post.querySelector(".burst");
  if (!heart || !document.body.dataset.me) return;
  heart.classList.remove("animate");
  // Forces a reflow, so that the animation restarts.
  heart.getBoundingClientRect();
  heart.classList.add("animate");
}

/** Whether the lightbox of the post's own page opens the photo; else its link does. @param {HTMLAnchorElement} photo */
function isOpened(photo) {
  return !photo.dispatchEvent(new Event("pinhole:open", { bubbles: true, cancelable: true }));
}

/** The first tap of a possible double tap. @type {{ post: HTMLElement, timer: number } | undefined} */
let firstTap;

document.addEventListener("click", (event) => {
  const target = /** @type {Element} */ (event.target);
  const post = /** @type {HTMLElement | null} */ (target.closest("article[data-post]"));
  if (!post) return;
  if (target.closest("button.like")) return like(post);
  const photo = /** @type {HTMLAnchorElement | null} */ (target.closest("a.photo"));
  // Clicks with modifiers or other buttons follow the link as usual.
  const modified = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
  if (!photo || modified || event.button !== 0) return;
  // A mouse and the keyboard have no double tap to wait for.
  const { pointerType } = /** @type {PointerEvent} */ (event);
  if (pointerType === "mouse" || event.detail === 0) {
    if (isOpened(photo)) event.preventDefault();
    return;
  }
  event.preventDefault();
  if (firstTap?.post === post) {
    clearTimeout(firstTap.timer);
    firstTap = undefined;
    return likeByDoubleTap(post);
  }
  clearTimeout(firstTap?.timer);
  const timer = setTimeout(() => {
    firstTap = undefined;
    if (!isOpened(photo)) location.assign(photo.href);
  }, DOUBLE_TAP_MS);
  firstTap = { post, timer };
});

document.addEventListener("keydown", (event) => {
  const target = /** @type {Element} */ (event.target);
  // Single-letter shortcuts are active only while a post has the focus (WCAG 2.1.4).
  const post = /** @type {HTMLElement | null} */ (target.closest("article[data-post]"));
  if (!post || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const key = event.key.toLowerCase();
  if (key === "l") like(post);
  const other = key === "j" ? post.nextElementSibling : key === "k" ? post.previousElementSibling : null;
  if (!(other instanceof HTMLElement)) return;
  other.focus({ preventScroll: true });
  other.scrollIntoView({ block: "start" });
});
