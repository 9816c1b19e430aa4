// The settings page: profile, sessions, password, recovery codes, blocked people, leaving.

import "./account-data.js";
import { ApiError, call, messageOf } from "./api.js";
import { byteLength, input, setFieldError } from "./fields.js";
import { t } from "./i18n.js";
import { clearPages } from "./offline-cache.js";
import { setPreference } from "./preferences.js";
import { toast, toastOnNextPage } from "./toast.js";

const settings = /** @type {HTMLElement} */ (document.querySelector(".settings"));
const min = Number(settings.dataset.min);
const list = /** @type {HTMLElement} */ (document.getElementById("sessions"));
const endOthers = /** @type {HTMLButtonElement} */ (document.getElementById("end-others"));

/** Removes the sessions that have ended from the list. @param {Element[]} ended */
function removeSessions(ended) {
  for (const session of ended) session.remove();
  endOthers.hidden = list.children.length < 2;
}

document.getElementById("appearance-form")?.addEventListener("change", async ({ target }) => {
  const { name, value } = /** @type {HTMLSelectElement} */ (target);
  await setPreference(/** @type {"theme" | "language"} */ (name), value);
  location.reload();
});

list.addEventListener("click", async ({ target }) => {
  const button = /** @type {Element} */ (target).closest("button");
  const session = button?.closest("li");
  if (!button || !session) return;
  button.disabled = true;
  try {
    await call("DELETE", `/me/sessions/${session.dataset.session}`);
  } catch (cause) {
    // One that has ended meanwhile is gone, too.
    if (!(cause instanceof ApiError && cause.status === 404)) {
      button.disabled = false;
      return toast(messageOf(cause));
    }
  }
  removeSessions([session]);
  toast(t("session_ended"));
  list.closest("section")?.querySelector("h2")?.scrollIntoView({ block: "nearest" });
});

endOthers.addEventListener("click", async () => {
  try {
    await call("DELETE", "/me/sessions");
    removeSessions([...list.children].filter((session) => session.querySelector("button")));
    toast(t("sessions_ended"));
  } catch (cause) {
    toast(messageOf(cause));
  }
});

/**
 * Submits a form of this page. Fields are cleared afterwards; an error is shown at the field that it is about.
 * @param {string} id
 * @param {string[]} fields
 * @param {() => boolean} validate
 * @param {() => Promise<void>} submit
 */
function onSubmit(id, fields, validate, submit) {
  const form = /** @type {HTMLFormElement} */ (document.getElementById(id));
  const formError = /** @type {HTMLElement} */ (document.getElementById(`${id}-error`));
  const button = /** @type {HTMLButtonElement} */ (form.querySelector("button.button"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    formError.textContent = "";
    if (!validate()) return;
    button.disabled = true;
    try {
      await submit();
      // Passwords do not stay in the page.
      for (const field of fields) if (input(field).type === "password") input(field).value = "";
    } catch (cause) {
      const error = cause instanceof ApiError ? cause : undefined;
      const at = error?.code === "wrong_password" ? fields[0] : error?.field;
      if (at && fields.includes(at)) setFieldError(at, messageOf(cause));
      else formError.textContent = messageOf(cause);
    } finally {
      button.disabled = false;
    }
  });
}

onSubmit(
  "profile-form",
  ["display_name", "bio", "link"],
  () => {
    const valid = /^(https?:\/\/[^\s]+)?$/.test(input("link").value);
    for (const field of ["display_name", "bio"]) setFieldError(field, "");
    setFieldError("link", valid ? "" : t("link_rule"));
    return valid;
  },
  async () => {
    await call("PATCH", "/me", {
      display_name: input("display_name").value,
      bio: input("bio").value,
      link: input("link").value,
    });
    await clearPages();
    toast(t("saved"));
  },
);

onSubmit(
  "password-form",
  ["current_password", "password"],
  () => {
    const current = input("current_password").value !== "";
    const long = byteLength(input("password").value) >= min;
    setFieldError("password", long ? "" : t("password_short", { min }));
    setFieldError("current_password", current ? "" : t("password_missing"));
    return current && long;
  },
  async () => {
    await call("PUT", "/me/password", {
      current_password: input("current_password").value,
      password: input("password").value,
    });
    removeSessions([...list.children].filter((session) => session.querySelector("button")));
    /** @type {HTMLElement} */ (document.getElementById("recovery-count")).textContent = t("codes_none");
    /** @type {HTMLElement} */ (document.getElementById("recovery-result")).hidden = true;
    toast(t("password_changed"));
  },
);

onSubmit(
  "recovery-form",
  ["recovery_password"],
  () => {
    const given = input("recovery_password").value !== "";
    setFieldError("recovery_password", given ? "" : t("password_missing"));
    return given;
  },
  async () => {
    const { body } = await call("POST", "/me/recovery-codes", { password: input("recovery_password").value });
    showCodes(body.codes);
  },
);

onSubmit(
  "leave-form",
  ["leave_password"],
  () => {
    const given = input("leave_password").value !== "";
    setFieldError("leave_password", given ? "" : t("password_missing"));
    return given;
  },
  async () => {
    await call("DELETE", "/me", { password: input("leave_password").value });
    await clearPages();
    location.replace("/");
  },
);

// Blocked people and hidden posts.
for (const leftOut of document.querySelectorAll("[data-left-out]")) {
  leftOut.addEventListener("click", async ({ target }) => {
    const button = /** @type {Element} */ (target).closest("button");
    const item = button?.closest("li");
    if (!button || !item) return;
    button.disabled = true;
    const path = item.dataset.path ?? "";
    try {
      await call("DELETE", path);
      await clearPages();
    } catch (cause) {
      button.disabled = false;
      return toast(messageOf(cause));
    }
    const text = t(path.startsWith("/me/blocks/") ? "unblocked_toast" : "shown_toast");
    const neighbour = item.nextElementSibling ?? item.previousElementSibling;
    item.remove();
    // The next page moves up.
    const older = /** @type {HTMLAnchorElement | null} */ (leftOut.parentElement?.querySelector("a.secondary"));
    if (!neighbour && older) {
      toastOnNextPage(text);
      return location.assign(older.href);
    }
    toast(text);
    neighbour?.querySelector("button")?.focus();
  });
}

/** @param {string[]} codes */
function showCodes(codes) {
  const result = /** @type {HTMLElement} */ (document.getElementById("recovery-result"));
  const items = codes.map((code) => Object.assign(document.createElement("li"), { textContent: code }));
  document.getElementById("recovery-list")?.replaceChildren(...items);
  const text = `${document.querySelector(".brand")?.textContent?.trim()}, ${location.host}, ${document.body.dataset.me}\n\n${codes.join("\n")}\n`;
  const save = /** @type {HTMLAnchorElement} */ (document.getElementById("recovery-save"));
  save.href = `data:text/plain;charset=utf-8,${encodeURIComponent(text)}`;
  const copy = /** @type {HTMLButtonElement} */ (document.getElementById("recovery-copy"));
  copy.onclick = async () => {
    try {
      await navigator.clipboard.writeText(text);
      toast(t("codes_copied"));
    } catch (cause) {
      toast(messageOf(cause));
    }
  };
  const count = /** @type {HTMLElement} */ (document.getElementById("recovery-count"));
  count.textContent = t("codes_left", { count: codes.length });
  result.hidden = false;
  result.focus();
}
