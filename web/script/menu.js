// What can be done with a post besides liking it: share, copy its link, edit, delete.

import { Failure, call } from "./api.js";
import { tell } from "./card.js";
import { forgetPhoto } from "./kept.js";
import { toast, toastLater } from "./toast.js";
import { say } from "./words.js";

const menu = dialog("menu");
const edit = dialog("edit");
const sure = dialog("sure");

/** @type {HTMLElement | undefined} */
let post;

/** @param {string} id */
function dialog(id) {
  return /** @type {HTMLDialogElement | null} */ (document.getElementById(id));
}

/** @param {HTMLElement} of */
function open(of) {
  post = of;
  const { me, admin } = document.body.dataset;
  const own = Boolean(me) && of.dataset.by === me;
  const may = /** @type {Record<string, boolean>} */ ({
    share: "share" in navigator,
    edit: own,
    delete: own || (Boolean(me) && admin !== undefined),
  });
  for (const button of menu?.querySelectorAll("button[data-do]") ?? []) {
    const name = /** @type {HTMLElement} */ (button).dataset.do ?? "";
    if (name in may) /** @type {HTMLElement} */ (button).hidden = !may[name];
  }
  menu?.showModal();
}

/** @param {HTMLElement} of */
function address(of) {
  return new URL(`/p/${of.dataset.post}`, location.href).href;
}

/** @type {Record<string, (of: HTMLElement) => unknown>} */
const ACTIONS = {
  share(of) {
    // Whoever closes the system's sheet has changed their mind; there is nothing to say.
    navigator.share({ url: address(of) }).catch(() => undefined);
  },
  async copy(of) {
    try {
      await navigator.clipboard.writeText(address(of));
      toast(say("link_copied"));
    } catch {
      toast(say("link_here", { link: address(of) }));
    }
  },
  async edit(of) {
    const form = edit?.querySelector("form");
    if (!form) return;
    problem(form, "");
    try {
      // What is shown may be old, or shortened.
      const { body } = await call("GET", `/posts/${of.dataset.post}`);
      field(form, "message").value = body.message ?? "";
      field(form, "alt").value = body.photo.alt ?? "";
      edit?.showModal();
    } catch (error) {
      toast(reason(error));
    }
  },
  delete() {
    const form = sure?.querySelector("form");
    if (form) problem(form, "");
    sure?.showModal();
  },
};

menu?.addEventListener("click", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (target === menu || target.dataset.do) menu.close();
  if (target.dataset.do && post) ACTIONS[target.dataset.do](post);
});

for (const sheet of [edit, sure]) {
  sheet?.addEventListener("click", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (target === sheet || target.matches("[data-close]")) sheet.close();
  });
}

edit?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = /** @type {HTMLFormElement} */ (event.target);
  await once(form, async () => {
    if (!post) return;
    const words = { message: field(form, "message").value, alt: field(form, "alt").value };
    const { body } = await call("PATCH", `/posts/${post.dataset.post}`, words);
    tell(post, body);
    edit.close();
    toast(say("saved"));
  });
});

sure?.addEventListener("submit", async (event) => {
  event.preventDefault();
  await once(/** @type {HTMLFormElement} */ (event.target), async () => {
    if (!post) return;
    await call("DELETE", `/posts/${post.dataset.post}`);
    await forgetPhoto(post);
    sure.close();
    const gone = post;
    const neighbour = /** @type {HTMLElement | null} */ (gone.nextElementSibling ?? gone.previousElementSibling);
    // It was the only one here: there is something else to show now.
    if (!neighbour) {
      toastLater(say("deleted"));
      location.replace("/");
      return;
    }
    gone.classList.add("leaving");
    setTimeout(() => gone.remove(), 200);
    neighbour.focus({ preventScroll: true });
    toast(say("deleted"));
  });
});

/**
 * Runs what a form asks for, and says beside it why it did not work.
 * @param {HTMLFormElement} form
 * @param {() => Promise<void>} work
 */
async function once(form, work) {
  const button = /** @type {HTMLButtonElement} */ (form.querySelector("button:not([type])"));
  button.disabled = true;
  problem(form, "");
  try {
    await work();
  } catch (error) {
    problem(form, reason(error));
  }
  button.disabled = false;
}

/** @param {HTMLFormElement} form @param {string} text */
function problem(form, text) {
  const line = form.querySelector(".problem");
  if (line) line.textContent = text;
}

/** @param {HTMLFormElement} form @param {string} name */
function field(form, name) {
  return /** @type {HTMLTextAreaElement} */ (form.elements.namedItem(name));
}

/** @param {unknown} error */
function reason(error) {
  return error instanceof Failure ? error.message : say("failed", { reason: String(error) });
}

document.addEventListener("click", (event) => {
  const button = /** @type {Element} */ (event.target).closest('[data-slot="more"]');
  const of = /** @type {HTMLElement | null} */ (button?.closest("[data-post]"));
  if (of) open(of);
});
