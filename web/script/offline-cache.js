// Invalidation of the offline cache, which the service worker fills.

/** Cache names; sw.js uses the same. */
export const PAGES = "pages";
export const PHOTOS = "photos";
const OFFLINE = "offline";

/** On login and logout: cached pages show the previous user's name and session. */
export async function clearPages() {
  if ("caches" in window) await caches.delete(PAGES);
}

/** The page that is shown without a network has the theme and the language of the time when it was cached. */
export async function refreshOfflinePage() {
  // If it fails, the earlier one stays.
  if ("caches" in window) await (await caches.open(OFFLINE)).add("/offline").catch(() => undefined);
}

/**
 * On deletion of a post: removes its images, and all pages because any of them may show it.
 * @param {HTMLElement} post
 */
export async function evictPost(post) {
  if (!("caches" in window)) return;
  await caches.delete(PAGES);
  const src = /** @type {HTMLImageElement} */ (post.querySelector(".picture")).src;
  const folder = src.slice(0, src.lastIndexOf("/") + 1);
  const photos = await caches.open(PHOTOS);
  const images = (await photos.keys()).filter((request) => request.url.startsWith(folder));
  await Promise.all(images.map((request) => photos.delete(request)));
}
