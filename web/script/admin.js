// The page of moderators and owners: reports, members, invitations, the instance. A button with `data-call` names a
// request for each item and has the texts of its dialog. Afterwards the lists are taken from the page as the server
// renders it then.

import { ApiError, call, messageOf } from "./api.js";
import { input, setFieldError } from "./fields.js";
import { fill, refusal, t } from "./i18n.js";
import { formatTimes } from "./time.js";
import { attempt, toast, toastOnNextPage } from "./toast.js";

/** Requests at a time. */
const PARALLEL = 4;
/** The most accounts that are loaded to select them. */
const MAX_SELECTED = 2000;

/** @param {string} id */
const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

const main = element("main");
const dialog = /** @type {HTMLDialogElement} */ (element("decision"));
const form = /** @type {HTMLFormElement} */ (dialog.firstElementChild);
const submit = /** @type {HTMLButtonElement} */ (element("decision-submit"));
const close = element("decision-close");
const link = input("decision-link");
const progress = /** @type {HTMLProgressElement} */ (element("decision-progress"));
const filter = /** @type {HTMLFormElement} */ (element("member-filter"));
const selectAll = input("select-all");
/** The fields of the dialog, of which an act has some. */
const fields = /** @type {HTMLElement[]} */ ([...form.querySelectorAll("[data-field]")]);

/** The page as the server renders it now. @param {string} url @returns {Promise<Document>} */
function read(url) {
  // Not `fetch`: parsing its text needs a trusted type.
  const request = new XMLHttpRequest();
  request.open("GET", url);
  request.responseType = "document";
  return new Promise((resolve, reject) => {
    request.onloadend = () => {
      const { status, response } = request;
      if (response?.getElementById("member-list")) resolve(response);
      else reject(new ApiError((status && refusal(status === 200 ? "unauthorized" : "internal")) || t("no_network"), status));
    };
    request.send();
  });
}

/** How many pages of the list of members are shown. */
let pages = 1;
/** Counts the requests for lists, of which the last one wins. */
let latest = 0;

/** Shows the lists as they are now; what was selected stays so. @param {number} count pages of the list of members */
async function refresh(count) {
  const turn = ++latest;
  const fresh = await read(location.pathname + location.search);
  for (let page = 1; page < count; page++) await append(fresh);
  if (turn !== latest) return;
  pages = count;
  const selected = selection().map(({ value }) => value);
  for (const list of document.querySelectorAll("[data-live]")) list.replaceWith(fresh.getElementById(list.id) ?? list);
  input("network").ariaInvalid = String(element("network-error").textContent !== "");
  for (const box of boxes()) box.checked = selected.includes(box.value);
  formatTimes(main);
  showSelection();
}

/** Appends the next page to the list of members. @param {Document} page */
async function append(page) {
  const more = page.querySelector("#members [rel=next]");
  if (!more) return;
  const next = await read(more.getAttribute("href") ?? "");
  page.getElementById("member-list")?.append(...next.querySelectorAll("#member-list > li"));
  more.replaceWith(next.querySelector("#members [rel=next]") ?? "");
}

async function showMore() {
  const shown = boxes().length;
  await append(document);
  pages += 1;
  formatTimes(main);
  showSelection();
  boxes()[shown]?.focus({ preventScroll: true });
}

async function selectRest() {
  while (!element("select-rest").hidden && boxes().length < MAX_SELECTED) {
    await showMore();
    selectBoxes(true);
  }
  selectAll.focus({ preventScroll: true });
}

/** @returns {HTMLInputElement[]} */
const boxes = () => [...element("member-list").querySelectorAll("input")].filter((box) => !box.disabled);

const selection = () => boxes().filter((box) => box.checked);

/** Those of the selection that an act is for. @param {HTMLElement} button */
const selectionFor = ({ dataset }) => selection().filter((box) => (dataset.for ?? box.dataset.status)?.includes(box.dataset.status ?? ""));

/** @param {boolean} checked */
function selectBoxes(checked) {
  for (const box of boxes()) box.checked = checked;
  showSelection();
}

function showSelection() {
  const selected = selection().length;
  const count = element("member-page").dataset.total ?? "";
  selectAll.checked = selected > 0 && selected === boxes().length;
  selectAll.indeterminate = selected > 0 && !selectAll.checked;
  element("selected").textContent = t(selected ? "members_selected" : "members_shown", { selected, count });
  element("select-rest").hidden = !selectAll.checked || !document.querySelector("#members [rel=next]");
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("#members [data-call]"))) {
    const possible = selectionFor(button).length;
    button.hidden = !possible || (possible > 1 && !button.dataset.titles);
  }
}

/** What the dialog is about: the button, the items that are left, and where the focus goes afterwards. @type {{ button: DOMStringMap, items: string[], focus: HTMLElement }} */
let decision;
let isRunning = false;
let isStopped = false;

main.addEventListener("click", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  const button = /** @type {HTMLElement | null} */ (target.closest("[data-call]"));
  if (button) return isRunning ? undefined : decide(button);
  if (target === selectAll) return selectBoxes(selectAll.checked);
  if (target.closest("#member-list input")) return showSelection();
  if (target.id === "select-rest") return void attempt(selectRest);
  const to = /** @type {HTMLAnchorElement | null} */ (target.closest("#members a[href^='/admin']"));
  if (!to || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  if (to.rel) return void attempt(showMore);
  const { searchParams } = new URL(to.href);
  for (const field of /** @type {Iterable<HTMLInputElement>} */ (filter.elements)) field.value = searchParams.get(field.name) ?? "";
  applyFilter();
  selectAll.focus({ preventScroll: true });
  element("members-title").scrollIntoView();
});

/** Asks about the act of a button; one account is approved at once. @param {HTMLElement} button */
function decide(button) {
  const { item, ask = "", title = "", titles = title, text = "" } = button.dataset;
  const boxes = selectionFor(button);
  const items = item === undefined ? boxes.map(({ value }) => value) : [item];
  const heading = /** @type {HTMLElement} */ (button.closest("section")?.querySelector("h2"));
  heading.tabIndex = -1;
  decision = { button: button.dataset, items, focus: item === undefined ? selectAll : heading };
  const label = (button.textContent ?? "").replace(/ ?…$/, "");
  const isOne = items.length === 1;
  const values = { name: items[0], count: items.length, posts: boxes.reduce((sum, box) => sum + Number(box.dataset.posts), 0) };
  form.reset();
  element("decision-title").textContent = fill((isOne ? title : titles) || label, values);
  element("decision-text").textContent = fill(text, values);
  element("reason-hint").hidden = button.dataset.unseen !== undefined;
  showNames();
  for (const field of fields) {
    const control = /** @type {HTMLInputElement} */ (field.querySelector("[name]"));
    field.hidden = control.disabled = !ask.split(" ").includes(control.name);
  }
  /** @type {HTMLSelectElement} */ (form.elements.namedItem("role")).value = boxes[0]?.dataset.role ?? "";
  submit.textContent = label;
  submit.classList.toggle("danger", button.classList.contains("danger"));
  showLink("");
  tell("");
  const isQuick = button.dataset.done === "409";
  if (!isQuick || !isOne) dialog.showModal();
  if (isQuick) perform();
}

function showNames() {
  const { items } = decision;
  element("decision-names").textContent = items.length > 1 ? items.join(", ") : "";
}

/** @param {string} error @param {string} [state] */
function tell(error, state = "") {
  element("decision-error").textContent = error;
  element("decision-state").textContent = state;
  progress.hidden = true;
}

/** Shows a link that was made, instead of the form. @param {string} url */
function showLink(url) {
  const isMade = url !== "";
  for (const field of isMade ? fields : []) field.hidden = true;
  submit.hidden = isMade;
  element("decision-made").hidden = element("decision-copy").hidden = !isMade;
  close.textContent = close.dataset[isMade ? "close" : "cancel"] ?? "";
  link.value = url;
  if (isMade) link.select();
}

/** Ignores an error that says that it is done already. @param {string | undefined} done its status @param {Promise<{ body: any }>} request */
async function unlessDone(done, request) {
  try {
    return (await request).body.url;
  } catch (cause) {
    if (!(cause instanceof ApiError && String(cause.status) === done)) throw cause;
  }
}

/** Sends the request of an act for an item; a link may come of it. @param {string} item @param {Record<string, string>} values */
async function send(item, values) {
  const { call: request = "", done, ask, report, resolution } = decision.button;
  const [method, path] = request.split(" ");
  const url = path && (await unlessDone(done, call(method, fill(path, { item: encodeURIComponent(item) }), ask ? values : undefined)));
  // Resolved with what was done, and why.
  const why = `${resolution}: ${values.reason}`.slice(0, 1000);
  if (report) await unlessDone("409", call("PUT", `/admin/reports/${report}`, { resolution: why }));
  return url;
}

/** Does it to every item; those that failed are left, with the reasons. */
async function perform() {
  const { items, focus } = decision;
  const total = items.length;
  const values = Object.fromEntries(/** @type {[string, string][]} */ ([...new FormData(form)]));
  if (values.reason?.trim() === "") return tell(t("reason_missing"));
  if (values.current_password === "") return tell(t("password_missing"));
  const queue = [...items];
  /** @type {string[]} */
  const failed = [];
  /** @type {string[]} */
  const reasons = [];
  /** @type {string | undefined} */
  let url;
  const show = () => {
    const done = total - queue.length;
    if (total > 1) tell("", t("done_so_far", { done, total }));
    Object.assign(progress, { hidden: total < 2, max: total, value: done });
  };
  const work = async () => {
    for (let item; !isStopped && (item = queue.shift()) !== undefined; show()) {
      try {
        url = await send(item, values);
        for (const box of selection()) box.checked &&= box.value !== item;
      } catch (cause) {
        failed.push(item);
        reasons.push((total > 1 ? `${item}: ` : "") + messageOf(cause));
        // Without a server, a session or the password the others would fail as well.
        isStopped ||= cause instanceof ApiError && ([0, 401].includes(cause.status) || cause.field === "current_password");
      }
    }
  };
  isRunning = submit.disabled = true;
  isStopped = false;
  show();
  await Promise.all(Array.from({ length: PARALLEL }, work));
  await attempt(() => refresh(pages));
  isRunning = submit.disabled = false;
  decision.items = [...failed, ...queue];
  const done = total - decision.items.length;
  if (done < total) {
    showNames();
    tell(reasons.join("\n"), total > 1 ? t("done_partly", { done, failed: failed.length }) : "");
    if (!dialog.open) dialog.showModal();
    submit.focus();
  } else if (url) {
    tell("");
    showLink(url);
  } else {
    dialog.close();
    toast(total > 1 ? t("done_count", { count: done }) : t("done"));
    focus.focus({ preventScroll: true });
  }
}

element("decision-copy").addEventListener("click", async () => {
  link.select();
  await attempt(async () => {
    await navigator.clipboard.writeText(link.value);
    tell("", t("link_copied"));
  });
});

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!submit.hidden && !isRunning) perform();
});

// The password stays on the page no longer than the dialog.
dialog.addEventListener("close", () => form.reset());

// While it runs, closing means to stop.
dialog.addEventListener("cancel", (event) => {
  isStopped = true;
  if (isRunning) event.preventDefault();
});
close.addEventListener("click", () => {
  isStopped = true;
  if (!isRunning) dialog.close();
});

/** Shows the members who match the filter, which is in the address, so that a reload keeps it. */
function applyFilter() {
  clearTimeout(typing);
  const values = /** @type {[string, string][]} */ ([...new FormData(filter)]);
  const query = new URLSearchParams(values.filter(([, value]) => value)).toString();
  history.replaceState(null, "", query ? `/admin?${query}` : "/admin");
  attempt(() => refresh(1));
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let typing;
filter.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(applyFilter, 250);
});
filter.addEventListener("submit", (event) => {
  event.preventDefault();
  applyFilter();
});
// After a reload the browser may have restored what was ticked.
showSelection();

/** The bytes of a size such as "1.5 GB", or NaN. @param {string} text */
function bytesOf(text) {
  // At most two decimals, because 1.000 is a thousand in some languages.
  const [, number, unit = "", binary] = /^(\d+(?:[.,]\d\d?)?) ?([kmgt]?)(i?)b$/i.exec(text.trim()) ?? [];
  return Math.round(Number(number?.replace(",", ".")) * (binary ? 1024 : 1000) ** " kmgt".indexOf(unit.toLowerCase() || " "));
}

document.getElementById("instance-form")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const fields = /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll("#instance-form [id]:is(input, textarea, select)")]);
  const formError = element("instance-form-error");
  formError.textContent = "";
  /** @type {Record<string, string>} */
  const values = {};
  for (const { id, type, checked, value, ariaInvalid } of fields) {
    if (ariaInvalid) setFieldError(id, "");
    // A size that cannot be read is refused by the API as well.
    const text = id.endsWith("_bytes") && value ? String(bytesOf(value)) : value;
    values[id] = type === "checkbox" ? (checked ? "on" : "off") : text;
  }
  try {
    await call("PATCH", "/admin/instance", values);
    toastOnNextPage(t("saved"));
    location.reload();
  } catch (cause) {
    const field = fields.find(({ id }) => cause instanceof ApiError && id === cause.field);
    if (field) setFieldError(field.id, field.dataset.rule ?? messageOf(cause));
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
