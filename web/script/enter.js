// Joining and logging in.

import { Failure, call } from "./api.js";
import { forgetPages } from "./kept.js";
import { say } from "./words.js";

const form = /** @type {HTMLFormElement} */ (document.getElementById("enter"));
const joining = form.action.endsWith("/join/username");
const min = Number(form.dataset.min);

/** Where to go afterwards: a page of this site, whatever the link says. */
function destination() {
  const next = new URL(new URLSearchParams(location.search).get("next") ?? "/", location.origin);
  return next.origin === location.origin && /^https?:$/.test(next.protocol) ? next.href : "/";
}

/** @param {string} name */
function input(name) {
  return /** @type {HTMLInputElement} */ (document.getElementById(name));
}

/** @param {string} name @param {string} text */
function blame(name, text) {
  const line = /** @type {HTMLElement} */ (document.getElementById(`${name}-problem`));
  line.textContent = text;
  input(name).setAttribute("aria-invalid", String(Boolean(text)));
  if (text) input(name).focus();
}

/** @returns {boolean} whether it is worth asking the server */
function check() {
  const username = input("username").value;
  const password = input("password").value;
  const short = new TextEncoder().encode(password).length < (joining ? min : 1);
  // The first field to blame is blamed last, so that it gets the focus.
  blame("password", !short ? "" : joining ? say("password_short", { min }) : say("password_missing"));
  const good = joining ? /^[A-Za-z0-9_.@+-]{1,64}$/.test(username) : username !== "";
  blame("username", good ? "" : joining ? say("name_rule") : say("name_missing"));
  return good && !short;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const problem = /** @type {HTMLElement} */ (document.getElementById("problem"));
  const button = /** @type {HTMLButtonElement} */ (form.querySelector("button.button"));
  problem.textContent = "";
  if (!check()) return;
  button.disabled = true;
  try {
    await call("POST", new URL(form.action).pathname, {
      username: input("username").value,
      password: input("password").value,
    });
    await forgetPages();
    location.replace(destination());
  } catch (error) {
    const failure = error instanceof Failure ? error : new Failure(String(error), 0);
    if (failure.status === 409) blame("username", say("name_taken"));
    else if (failure.field === "username" || failure.field === "password") blame(failure.field, failure.message);
    else problem.textContent = failure.message;
    button.disabled = false;
  }
});

input("show").addEventListener("change", () => {
  input("password").type = input("show").checked ? "text" : "password";
});

const other = /** @type {HTMLAnchorElement} */ (document.getElementById("other"));
other.search = location.search;
