// What the service worker keeps on this device, and how it is forgotten.

/** Names of the caches; the worker uses the same. */
export const PAGES = "pages";
export const PHOTOS = "photos";

/** Pages show whose they are: nobody else on this device may find them. */
export async function forgetPages() {
  if ("caches" in window) await caches.delete(PAGES);
}

/**
 * What is deleted is gone here as well.
 * @param {HTMLElement} post
 */
export async function forgetPhoto(post) {
  if (!("caches" in window)) return;
  await caches.delete(PAGES);
  const src = /** @type {HTMLImageElement} */ (post.querySelector(".picture")).src;
  const folder = src.slice(0, src.lastIndexOf("/") + 1);
  const photos = await caches.open(PHOTOS);
  const images = (await photos.keys()).filter((request) => request.url.startsWith(folder));
  await Promise.all(images.map((request) => photos.delete(request)));
}
