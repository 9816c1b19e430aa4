// The lightbox: a photo as large as the window, with zoom, pinch, drag, swipe and the arrow keys. It steps through
// the list that the post was opened from.

import { openedFrom } from "./post-list.js";

const MAX_ZOOM = 8;
const SWIPE_PIXELS = 60;
/** The photo is loaded with more pixels beyond this zoom. */
const DETAIL_ZOOM = 1.5;

const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("lightbox"));
const stage = /** @type {HTMLElement} */ (dialog.querySelector(".stage"));
const image = /** @type {HTMLImageElement} */ (dialog.querySelector("img"));
const post = /** @type {HTMLElement} */ (document.querySelector("article[data-post]"));

/** @type {import("./post-list.js").ListedPost[]} */
let list = [];
let index = 0;
let zoom = 1;
/** The offset of the image's centre from the window's centre. */
let x = 0;
let y = 0;
/** Pressed pointers by id, where they are. @type {Map<number, { x: number, y: number }>} */
const pointers = new Map();
/** Where the gesture began; unset once a second finger takes part. @type {{ x: number, y: number } | undefined} */
let start;

function show() {
  const { photo, alt } = list[index];
  image.src = `/photos/${photo}/fit/2048`;
  image.alt = alt;
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (dialog.querySelectorAll("[data-step]"))) {
    button.hidden = !list[index + Number(button.dataset.step)];
  }
  zoomTo(1);
}

/**
 * @param {number} to
 * @param {number} [atX] the point of the window that stays where it is, from the centre
 * @param {number} [atY]
 */
function zoomTo(to, atX = 0, atY = 0) {
  const next = Math.min(MAX_ZOOM, Math.max(1, to));
  x = atX - ((atX - x) * next) / zoom;
  y = atY - ((atY - y) * next) / zoom;
  zoom = next;
  if (zoom > DETAIL_ZOOM) image.src = `/photos/${list[index].photo}/fit/4096`;
  move(0, 0);
}

/** @param {number} dx @param {number} dy */
function move(dx, dy) {
  // The window stays within the area that the photo took before, enlarged.
  const limit = (/** @type {number} */ side) => (side * (zoom - 1)) / 2;
  const clamp = (/** @type {number} */ value, /** @type {number} */ most) => Math.min(most, Math.max(-most, value));
  x = clamp(x + dx, limit(stage.clientWidth));
  y = clamp(y + dy, limit(stage.clientHeight));
  image.style.transform = `translate(${x}px, ${y}px) scale(${zoom})`;
  dialog.classList.toggle("zoomed", zoom > 1);
}

/** @param {number} by */
function step(by) {
  if (!list[index + by]) return;
  index += by;
  show();
}

function close() {
  dialog.close();
  const { id } = list[index];
  if (id !== post.dataset.post) location.assign(`/p/${id}`);
}

/** @param {{ clientX: number, clientY: number }} event */
function fromCentre({ clientX, clientY }) {
  return { x: clientX - innerWidth / 2, y: clientY - innerHeight / 2 };
}

document.addEventListener("pinhole:open", (event) => {
  event.preventDefault();
  list = openedFrom();
  index = list.findIndex(({ id }) => id === post.dataset.post);
  if (index < 0) {
    const { post: id = "", photo = "" } = post.dataset;
    list = [{ id, photo, alt: /** @type {HTMLImageElement} */ (post.querySelector(".picture")).alt }];
    index = 0;
  }
  // The focus of the photo may have been moved since.
  list[index].photo = post.dataset.photo ?? "";
  dialog.showModal();
  show();
});

dialog.addEventListener("click", ({ target }) => {
  const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (target).closest("button"));
  if (!button) return;
  const { zoom: factor, step: by } = button.dataset;
  if (factor) zoomTo(zoom * Number(factor));
  else if (by) step(Number(by));
  else close();
});
dialog.addEventListener("cancel", (event) => {
  event.preventDefault();
  close();
});
dialog.addEventListener("keydown", ({ key }) => {
  if (key === "ArrowLeft") step(-1);
  if (key === "ArrowRight") step(1);
  if (key === "+" || key === "=") zoomTo(zoom * 2);
  if (key === "-") zoomTo(zoom / 2);
});

stage.addEventListener("wheel", (event) => {
  event.preventDefault();
  const { x, y } = fromCentre(event);
  zoomTo(zoom * Math.exp(-event.deltaY / 300), x, y);
});
stage.addEventListener("dblclick", (event) => {
  const { x, y } = fromCentre(event);
  zoomTo(zoom > 1 ? 1 : 2.5, x, y);
});

stage.addEventListener("pointerdown", (event) => {
  stage.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, fromCentre(event));
  start = pointers.size === 1 ? fromCentre(event) : undefined;
});
stage.addEventListener("pointermove", (event) => {
  const before = pointers.get(event.pointerId);
  if (!before) return;
  const now = fromCentre(event);
  const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
  pointers.set(event.pointerId, now);
  if (other) {
    const distance = (/** @type {{ x: number, y: number }} */ point) => Math.hypot(point.x - other.x, point.y - other.y);
    zoomTo((zoom * distance(now)) / (distance(before) || 1), (now.x + other.x) / 2, (now.y + other.y) / 2);
  } else if (zoom > 1) {
    move(now.x - before.x, now.y - before.y);
  }
});
stage.addEventListener("pointercancel", ({ pointerId }) => pointers.delete(pointerId));
stage.addEventListener("pointerup", (event) => {
  pointers.delete(event.pointerId);
  if (!start || zoom > 1) return;
  const { x, y } = fromCentre(event);
  const [dx, dy] = [x - start.x, y - start.y];
  start = undefined;
  if (Math.abs(dx) > SWIPE_PIXELS && Math.abs(dx) > Math.abs(dy)) step(dx < 0 ? 1 : -1);
  else if (Math.abs(dy) > SWIPE_PIXELS) close();
});
