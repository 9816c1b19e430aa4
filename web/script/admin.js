// The page of moderators and owners: reports, accounts, the instance, invitations.

import { ApiError, call, messageOf } from "./api.js";
import { input, setFieldError } from "./fields.js";
import { t } from "./i18n.js";
import { toast } from "./toast.js";

const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("reason"));
const dialogForm = /** @type {HTMLFormElement} */ (dialog.querySelector("form"));

/** What the dialog does with the reason. @type {((reason: string, hidePosts: boolean) => Promise<void>) | undefined} */
let decide;

/** @param {string} title @param {boolean} hidePosts @param {(reason: string, hidePosts: boolean) => Promise<void>} action */
function askReason(title, hidePosts, action) {
  decide = action;
  dialogForm.reset();
  /** @type {HTMLElement} */ (document.getElementById("reason-title")).textContent = title;
  /** @type {HTMLElement} */ (document.getElementById("hide-posts")).hidden = !hidePosts;
  setError("");
  dialog.showModal();
}

/** @param {string} text */
function setError(text) {
  /** @type {HTMLElement} */ (dialogForm.querySelector(".error")).textContent = text;
}

dialog.addEventListener("click", ({ target }) => {
  if (/** @type {Element} */ (target).matches("[data-close]")) dialog.close();
});

dialogForm.addEventListener("submit", async (event) => {
  event.preventDefault();
  const reason = /** @type {HTMLTextAreaElement} */ (dialogForm.elements.namedItem("reason")).value.trim();
  if (!reason) return setError(t("reason_missing"));
  const hidePosts = /** @type {HTMLInputElement} */ (dialogForm.elements.namedItem("hide_posts")).checked;
  try {
    await decide?.(reason, hidePosts);
    dialog.close();
    toast(t("done"));
  } catch (cause) {
    setError(messageOf(cause));
  }
});

/** Removes an item from its list, and keeps the focus in the section. @param {HTMLElement} item */
function removeItem(item) {
  const heading = /** @type {HTMLElement | null} */ (item.closest("section")?.querySelector("h2"));
  item.remove();
  if (!heading) return;
  heading.tabIndex = -1;
  heading.focus();
}

/** Ignores an error that says that it is done already. @param {number} status @param {Promise<unknown>} request */
async function unlessDone(status, request) {
  try {
    await request;
  } catch (cause) {
    if (!(cause instanceof ApiError && cause.status === status)) throw cause;
  }
}

/** Resolves the report of an item with what was done. @param {HTMLElement} item @param {string} resolution */
async function resolve(item, resolution) {
  await unlessDone(409, call("PUT", `/admin/reports/${item.dataset.report}`, { resolution: resolution.slice(0, 1000) }));
  removeItem(item);
}

document.getElementById("reports")?.addEventListener("click", ({ target }) => {
  const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (target).closest("button[data-action]"));
  const item = /** @type {HTMLElement | null} */ (button?.closest("li"));
  if (!button || !item) return;
  const { post, user } = item.dataset;
  const title = button.textContent ?? "";
  switch (button.dataset.action) {
    case "hide":
      return askReason(title, false, async (reason) => {
        await call("PUT", `/admin/posts/${post}/hidden`, { reason });
        await resolve(item, `Post hidden: ${reason}`);
      });
    case "delete":
      return askReason(title, false, async (reason) => {
        await unlessDone(404, call("DELETE", `/admin/posts/${post}`, { reason }));
        await resolve(item, `Post deleted: ${reason}`);
      });
    case "photo":
      return askReason(title, false, async (reason) => {
        await unlessDone(404, call("DELETE", `/admin/users/${encodeURIComponent(user ?? "")}/photo`, { reason }));
        await resolve(item, `Profile photo removed: ${reason}`);
      });
    case "suspend":
      return askReason(title, true, async (reason, hidePosts) => {
        await call("PUT", `/admin/users/${encodeURIComponent(user ?? "")}/suspension`, { reason, hide_posts: String(hidePosts) });
        await resolve(item, `User suspended: ${reason}`);
      });
    default:
      return askReason(title, false, (reason) => resolve(item, `Dismissed: ${reason}`));
  }
});

document.getElementById("accounts")?.addEventListener("click", async ({ target }) => {
  const button = /** @type {HTMLButtonElement | null} */ (/** @type {Element} */ (target).closest("button"));
  const item = button?.closest("li");
  if (!button || !item) return;
  button.disabled = true;
  try {
    await call("DELETE", `/admin/users/${encodeURIComponent(item.dataset.user ?? "")}/suspension`);
    removeItem(item);
    toast(t("done"));
  } catch (cause) {
    button.disabled = false;
    toast(messageOf(cause));
  }
});

const QUOTAS = ["member", "moderator"].flatMap((role) =>
  ["bytes", "posts_per_day", "likes_per_minute"].map((quota) => `${role}_${quota}`));
const FIELDS = ["name", "description", "rules", "terms", "contact", "accent", "registration", ...QUOTAS];

document.getElementById("instance-form")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const formError = /** @type {HTMLElement} */ (document.getElementById("instance-form-error"));
  formError.textContent = "";
  const values = Object.fromEntries(FIELDS.map((field) => [field, input(field).value]));
  for (const field of FIELDS) if (field !== "registration") setFieldError(field, "");
  try {
    await call("PATCH", "/admin/instance", { ...values, member_invitations: input("member_invitations").checked ? "on" : "off" });
    toast(t("saved"));
  } catch (cause) {
    if (cause instanceof ApiError && cause.field && FIELDS.includes(cause.field)) setFieldError(cause.field, cause.message);
    else formError.textContent = messageOf(cause);
  }
});

document.getElementById("logo-form")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const file = input("logo").files?.[0];
  setFieldError("logo", file ? "" : t("logo_missing"));
  if (!file) return;
  const form = new FormData();
  form.set("logo", file);
  try {
    await call("PUT", "/admin/instance/logo", form);
    location.reload();
  } catch (cause) {
    setFieldError("logo", messageOf(cause));
  }
});

document.getElementById("logo-remove")?.addEventListener("click", async () => {
  try {
    await call("DELETE", "/admin/instance/logo");
    location.reload();
  } catch (cause) {
    setFieldError("logo", messageOf(cause));
  }
});

document.getElementById("invite")?.addEventListener("click", async () => {
  const line = /** @type {HTMLElement} */ (document.getElementById("invite-link"));
  try {
    const { body } = await call("POST", "/invitations");
    line.textContent = body.url;
  } catch (cause) {
    toast(messageOf(cause));
  }
});
