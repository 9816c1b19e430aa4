// The auth form: join, login and recovery.

import { ApiError, call, messageOf } from "./api.js";
import { byteLength, input, setFieldError } from "./fields.js";
import { t } from "./i18n.js";
import { clearPages } from "./offline-cache.js";

const form = /** @type {HTMLFormElement} */ (document.getElementById("auth-form"));
const path = new URL(form.action).pathname;
const joining = path === "/join/username";
const recovering = path === "/recover";
/** A new password must have this length; a current one may be from before the rule. */
const min = path === "/login/username" ? 1 : Number(form.dataset.min);

const terms = /** @type {HTMLInputElement | null} */ (document.getElementById("terms"));
const invitation = /** @type {HTMLInputElement | null} */ (document.getElementById("invitation"));
const query = new URLSearchParams(location.search);
if (invitation) invitation.value = query.get("invitation") ?? "";
if (recovering) {
  // A link of the operator has both; the code is in the fragment, which no server logs.
  input("username").value = query.get("username") ?? "";
  input("code").value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
}

/** The URL to open after login. Only URLs of this origin: `next` must not become an open redirect. */
function destination() {
  if (recovering) return "/settings";
  const next = new URL(new URLSearchParams(location.search).get("next") ?? "/", location.origin);
  return next.origin === location.origin && /^https?:$/.test(next.protocol) ? next.href : "/";
}

/** @returns {boolean} whether the form is valid and can be submitted */
function validate() {
  const username = input("username").value;
  const short = byteLength(input("password").value) < min;
  // In reverse order, so that the first invalid field gets the focus.
  setFieldError("password", !short ? "" : min > 1 ? t("password_short", { min }) : t("password_missing"));
  const hasCode = !recovering || input("code").value.trim() !== "";
  if (recovering) setFieldError("code", hasCode ? "" : t("code_missing"));
  const valid = joining ? /^(?!\.{1,2}$)[A-Za-z0-9_.@+-]{1,64}$/.test(username) : username !== "";
  setFieldError("username", valid ? "" : joining ? t("username_rule") : t("username_missing"));
  const agreed = !terms || terms.checked;
  if (terms) setFieldError("terms", agreed ? "" : t("terms_missing"));
  if (invitation) setFieldError("invitation", "");
  return valid && hasCode && !short && agreed;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const formError = /** @type {HTMLElement} */ (document.getElementById("form-error"));
  const button = /** @type {HTMLButtonElement} */ (form.querySelector("button.button"));
  formError.textContent = "";
  if (!validate()) return;
  button.disabled = true;
  try {
    await call("POST", path, {
      username: input("username").value,
      password: input("password").value,
      ...(recovering && { code: input("code").value }),
      ...(invitation && { invitation: invitation.value }),
      ...(terms?.checked && { terms: "accepted" }),
    });
    await clearPages();
    location.replace(destination());
  } catch (cause) {
    const field = cause instanceof ApiError && cause.field;
    if (field && document.getElementById(`${field}-error`)) setFieldError(field, messageOf(cause));
    else formError.textContent = messageOf(cause);
    button.disabled = false;
  }
});

document.getElementById("show-password")?.addEventListener("change", () => {
  input("password").type = input("show-password").checked ? "text" : "password";
});

// The link between join and login passes `next` on.
const alternative = /** @type {HTMLAnchorElement} */ (document.getElementById("alternative"));
alternative.search = location.search;
