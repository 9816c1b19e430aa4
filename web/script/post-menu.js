// The menu of a post: share, copy link, edit, hide, block, report, delete.

import { ApiError, call } from "./api.js";
import { renderText } from "./card.js";
import { pickFocus } from "./focus-picker.js";
import { t } from "./i18n.js";
import { evictPost } from "./offline-cache.js";
import { toast, toastOnNextPage } from "./toast.js";

const menu = dialog("post-menu");
const edit = dialog("edit");
const confirmDelete = dialog("confirm-delete");
const report = dialog("report");

/** The post whose menu or dialog is open. @type {HTMLElement | undefined} */
let post;

/** The button that opened the menu. @type {Element | undefined} */
let opener;

/** The focus that was chosen in the edit dialog; undefined if it was not moved. @type {string | undefined} */
let focus;

/** The content of the dialog's form when it was opened. */
let opened = "";

/** @param {string} id */
function dialog(id) {
  return /** @type {HTMLDialogElement | null} */ (document.getElementById(id));
}

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
    report: Boolean(me) && !own,
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
  share(element) {
    // It rejects when the system's share sheet is dismissed, which is no error.
    navigator.share({ url: url(element) }).catch(() => undefined);
  },
  async copy(element) {
    try {
      await navigator.clipboard.writeText(url(element));
      toast(t("link_copied"));
    } catch {
      toast(t("copy_manually", { link: url(element) }));
    }
  },
  original(element) {
    const link = document.createElement("a");
    link.href = `/photos/${element.dataset.photo}/original`;
    link.download = "";
    link.click();
  },
  async edit(element) {
    const form = edit?.querySelector("form");
    if (!form) return;
    setError(form, "");
    try {
      // Not from the page: it may be stale.
      const { body } = await call("GET", `/posts/${element.dataset.post}`);
      field(form, "message").value = body.message ?? "";
      field(form, "alt").value = body.photo.alt ?? "";
      checkbox(form).checked = Boolean(body.share_original);
      showFocus(form, body.photo);
      opened = content(form);
      edit?.showModal();
    } catch (error) {
      toast(errorMessage(error));
    }
  },
  async hide(element) {
    await attempt(async () => {
      await call("PUT", `/me/hidden-posts/${element.dataset.post}`);
      await leaveList([element], t("hidden_toast"));
    });
  },
  async block(element) {
    const author = element.dataset.author ?? "";
    await attempt(async () => {
      await call("PUT", `/me/blocks/${encodeURIComponent(author)}`);
      const posts = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-post][data-author]"));
      await leaveList([...posts].filter((post) => post.dataset.author === author), t("blocked_toast"));
    });
  },
  report() {
    const form = report?.querySelector("form");
    form?.reset();
    if (form) setError(form, "");
    if (form) opened = content(form);
    report?.showModal();
  },
  delete() {
    const form = confirmDelete?.querySelector("form");
    if (form) setError(form, "");
    opened = "";
    confirmDelete?.showModal();
  },
};

menu?.addEventListener("click", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (target === menu || target.dataset.action) menu.close();
  if (target.dataset.action && post) ACTIONS[target.dataset.action](post);
});

addEventListener("resize", placeMenu);

for (const sheet of [edit, confirmDelete, report]) {
  sheet?.addEventListener("click", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    // A click beside the dialog does not throw away what was written.
    const form = sheet.querySelector("form");
    const isUnchanged = !form || content(form) === opened;
    if (target.matches("[data-close]") || (target === sheet && isUnchanged)) sheet.close();
  });
}

edit?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = /** @type {HTMLFormElement} */ (event.target);
  await submit(form, async () => {
    if (!post) return;
    const share_original = String(checkbox(form).checked);
    const fields = { message: field(form, "message").value, alt: field(form, "alt").value, share_original };
    if (focus) Object.assign(fields, { focus });
    const { body } = await call("PATCH", `/posts/${post.dataset.post}`, fields);
    renderText(post, body);
    edit.close();
    toast(t("saved"));
  });
});

report?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (!field(form, "reason").value.trim()) return setError(form, t("reason_missing"));
  await submit(form, async () => {
    if (!post) return;
    await call("POST", `/posts/${post.dataset.post}/reports`, { reason: field(form, "reason").value });
    report.close();
    toast(t("reported_toast"));
  });
});

// Copying the link is all that a browser without a share sheet can do.
if (!("share" in navigator)) document.body.classList.add("no-share");

/** Runs an action of the menu, and shows its error. @param {() => Promise<void>} action */
async function attempt(action) {
  try {
    await action();
  } catch (error) {
    toast(errorMessage(error));
  }
}

/** Removes posts from a list; the page of a post opens the feed. @param {HTMLElement[]} posts @param {string} text */
async function leaveList(posts, text) {
  for (const element of posts) await evictPost(element);
  if (!document.getElementById("post-list")) {
    toastOnNextPage(text);
    location.replace("/");
    return;
  }
  const last = posts[posts.length - 1];
  const neighbour = /** @type {HTMLElement | null} */ (last.nextElementSibling ?? posts[0].previousElementSibling);
  for (const element of posts) element.remove();
  neighbour?.focus({ preventScroll: true });
  toast(text);
}

confirmDelete?.addEventListener("submit", async (event) => {
  event.preventDefault();
  await submit(/** @type {HTMLFormElement} */ (event.target), async () => {
    if (!post) return;
    await call("DELETE", `/posts/${post.dataset.post}`);
    await evictPost(post);
    confirmDelete.close();
    const deleted = post;
    const neighbour = /** @type {HTMLElement | null} */ (deleted.nextElementSibling ?? deleted.previousElementSibling);
    // The only post of this page: the feed shows the next ones, or its empty state.
    if (!neighbour) {
      toastOnNextPage(t("deleted"));
      location.replace("/");
      return;
    }
    deleted.classList.add("removing");
    setTimeout(() => deleted.remove(), 200);
    neighbour.focus({ preventScroll: true });
    toast(t("deleted"));
  });
});

/**
 * Runs a form's action with its button disabled, and shows the error in the form.
 * @param {HTMLFormElement} form
 * @param {() => Promise<void>} action
 */
async function submit(form, action) {
  const button = /** @type {HTMLButtonElement} */ (form.querySelector("button:not([type])"));
  button.disabled = true;
  setError(form, "");
  try {
    await action();
  } catch (error) {
    setError(form, errorMessage(error));
  }
  button.disabled = false;
}

/** @param {HTMLFormElement} form @param {string} text */
function setError(form, text) {
  const line = form.querySelector(".error");
  if (line) line.textContent = text;
}

/** @param {HTMLFormElement} form @param {string} name */
function field(form, name) {
  return /** @type {HTMLTextAreaElement} */ (form.elements.namedItem(name));
}

/** What a form would send, and the focus. @param {HTMLFormElement} form */
function content(form) {
  const entries = [...new FormData(form)].map(([name, value]) => `${name}=${value}`);
  return [...entries, focus ?? ""].join("\n").trim();
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
  focus = undefined;
  const { x, y } = photo.focus ?? { x: 0.5, y: 0.5 };
  pickFocus(picker, `${x},${y}`, (moved) => {
    focus = moved;
  });
}

/** @param {unknown} error */
function errorMessage(error) {
  return error instanceof ApiError ? error.message : t("failed", { reason: String(error) });
}

document.addEventListener("click", (event) => {
  const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("button[data-slot]"));
  const element = /** @type {HTMLElement | null} */ (button?.closest("[data-post]"));
  if (!button || !element) return;
  const slot = button.dataset.slot ?? "";
  if (slot === "more") openMenu(element, button);
  else if (slot === "share" || slot === "copy") ACTIONS[slot](element);
});
