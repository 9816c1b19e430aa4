// The menu of a post: share, copy link, edit, hide, block, report, delete.

import { call } from "./api.js";
import { pickFocus } from "./focus-picker.js";
import { t } from "./i18n.js";
import { evictPost } from "./offline-cache.js";
import { refreshPost } from "./part.js";
import { block, blockPath, report } from "./safety.js";
import { copy, share } from "./share.js";
import { confirm, openSheet } from "./sheet.js";
import { attempt, toast, toastOnNextPage, undo } from "./toast.js";

const menu = /** @type {HTMLDialogElement | null} */ (document.getElementById("post-menu"));

/** The post whose menu is open. @type {HTMLElement | undefined} */
let post;

/** The button that opened the menu. @type {Element | undefined} */
let opener;

/** @param {HTMLElement} element @param {Element} button */
function openMenu(element, button) {
  post = element;
  opener = button;
  const { me, moderator } = document.body.dataset;
  const own = Boolean(me) && element.dataset.author === me;
  const allowed = /** @type {Record<string, boolean>} */ ({
    original: own || element.dataset.original !== undefined,
    edit: own,
    hide: Boolean(me) && !own,
    block: Boolean(me) && !own,
    report: !own,
    delete: own || (Boolean(me) && moderator !== undefined),
  });
  for (const button of menu?.querySelectorAll("button[data-action]") ?? []) {
    const action = /** @type {HTMLElement} */ (button).dataset.action ?? "";
    if (action in allowed) /** @type {HTMLElement} */ (button).hidden = !allowed[action];
  }
  const block = /** @type {HTMLElement | null | undefined} */ (menu?.querySelector('[data-action="block"]'));
  if (block) block.textContent = (block.dataset.label ?? "").replace("{name}", element.dataset.author ?? "");
  menu?.showModal();
  placeMenu();
}

/** Places the menu below the button that opened it, or above if there is no space. On phones it is a sheet. */
function placeMenu() {
  if (!menu?.open || !opener) return;
  menu.style.inset = "";
  if (matchMedia("(max-width: 39.99rem)").matches) return;
  const { right, bottom, top } = opener.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = menu;
  const below = bottom + height + 8 < innerHeight ? bottom + 4 : top - height - 4;
  const place = (/** @type {number} */ to, /** @type {number} */ most) => `${Math.max(8, Math.min(to, most - 8))}px`;
  menu.style.inset = `${place(below, innerHeight - height)} auto auto ${place(right - width, innerWidth - width)}`;
}

/** @param {HTMLElement} element */
function url(element) {
  return new URL(`/p/${element.dataset.post}`, location.href).href;
}

/** @type {Record<string, (element: HTMLElement) => unknown>} */
const ACTIONS = {
  share: (element) => share(url(element)),
  copy: (element) => copy(url(element)),
  original(element) {
    const link = document.createElement("a");
    link.href = `/photos/${element.dataset.photo}/original`;
    link.download = "";
    link.click();
  },
  edit: (element) =>
    attempt(async () => {
      // Not from the page: it may be stale.
      const { body } = await call("GET", `/posts/${element.dataset.post}`);
      const form = /** @type {HTMLFormElement} */ (document.querySelector("#edit form"));
      field(form, "message").value = body.message ?? "";
      field(form, "alt").value = body.photo.alt ?? "";
      checkbox(form).checked = Boolean(body.share_original);
      showFocus(form, body.photo);
      openSheet("edit", (form) => save(element, form));
    }),
  hide: (element) =>
    attempt(async () => {
      const path = `/me/hidden-posts/${element.dataset.post}`;
      await call("PUT", path);
      (await leaveList([element], t("hidden_toast"), path))?.();
    }),
  block(element) {
    const { author: name = "" } = element.dataset;
    block(name, () => {
      const posts = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-post][data-author]"));
      return leaveList([...posts].filter(({ dataset }) => dataset.author === name), t("blocked_toast", { name }), blockPath(name));
    });
  },
  report(element) {
    if (document.body.dataset.me) report(`/posts/${element.dataset.post}`);
    else location.assign(`/login?next=/p/${element.dataset.post}`);
  },
  delete(element) {
    const question = { title: t("delete_title"), text: t("delete_text"), label: t("delete_submit") };
    confirm(question, async () => {
      await call("DELETE", `/posts/${element.dataset.post}`);
      return leaveList([element], t("deleted"));
    });
  },
};

menu?.addEventListener("click", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (target === menu || target.dataset.action) menu.close();
  if (target.dataset.action && post) ACTIONS[target.dataset.action](post);
});

addEventListener("resize", placeMenu);

/** @param {HTMLElement} element @param {HTMLFormElement} form */
async function save(element, form) {
  const share_original = String(checkbox(form).checked);
  const fields = { message: field(form, "message").value, alt: field(form, "alt").value, share_original };
  const focus = field(form, "focus").value;
  if (focus) Object.assign(fields, { focus });
  await call("PATCH", `/posts/${element.dataset.post}`, fields);
  await refreshPost(element);
  toast(t("saved"));
}

/**
 * Takes posts out of the list. Without others, the feed shows the next ones, or its empty state.
 * @param {HTMLElement[]} posts
 * @param {string} text
 * @param {string} [path] what undo deletes
 * @returns {Promise<(() => void) | undefined>} moves the focus to the next post
 */
async function leaveList(posts, text, path) {
  for (const element of posts) await evictPost(element);
  const listed = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("#post-list > [data-post]"));
  const rest = [...listed].filter((other) => !posts.includes(other));
  if (!rest.length) {
    toastOnNextPage(text, path);
    location.replace("/");
    return;
  }
  const isBelow = (/** @type {Node} */ other) => posts[0].compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING;
  const neighbour = rest.find(isBelow) ?? rest[rest.length - 1];
  const marks = posts.map(() => new Comment());
  for (const [index, element] of posts.entries()) {
    if (path) element.replaceWith(marks[index]);
    else element.remove();
  }
  const restore = () => {
    for (const [index, element] of posts.entries()) marks[index].replaceWith(element);
    posts[0].focus();
  };
  toast(text, path ? undo(path, restore) : undefined);
  return () => neighbour.focus({ preventScroll: true });
}

/** @param {HTMLFormElement} form @param {string} name */
function field(form, name) {
  return /** @type {HTMLTextAreaElement} */ (form.elements.namedItem(name));
}

/** @param {HTMLFormElement} form */
function checkbox(form) {
  return /** @type {HTMLInputElement} */ (form.elements.namedItem("share_original"));
}

/** @param {HTMLFormElement} form @param {import("./api.js").Post["photo"]} photo */
function showFocus(form, photo) {
  const picker = /** @type {HTMLElement} */ (form.querySelector(".square-picker"));
  const image = /** @type {HTMLImageElement} */ (picker.querySelector("img"));
  image.src = `/photos/${photo.id}/fit/800`;
  field(form, "focus").value = "";
  const { x, y } = photo.focus ?? { x: 0.5, y: 0.5 };
  pickFocus(picker, `${x},${y}`, (moved) => {
    field(form, "focus").value = moved;
  });
}

document.addEventListener("click", (event) => {
  const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("button[data-slot]"));
  const element = /** @type {HTMLElement | null} */ (button?.closest("[data-post]"));
  if (!button || !element) return;
  const slot = button.dataset.slot ?? "";
  if (slot === "more") openMenu(element, button);
  else if (slot === "share" || slot === "copy") ACTIONS[slot](element);
});
