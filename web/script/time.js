// Formats <time> elements in the page's locale and the browser's time zone. Not with Intl, except for the tooltip: its
// first use takes 20 ms, on a phone 100.

import { locale, t } from "./i18n.js";

const DAY = 86400;
const MONTHS = t("months").split(" ");

/** @type {[string, number][]} */
const UNITS = [["days_ago", DAY], ["hours_ago", 3600], ["minutes_ago", 60]];

/** @param {ParentNode} root */
export function formatTimes(root) {
  for (const time of root.querySelectorAll("time")) {
    const date = dateOf(time);
    if (Number.isNaN(date.getTime())) continue;
    time.textContent = time.dataset.format === "day" ? day(date) : relativeTime(date);
  }
}

/** @param {HTMLTimeElement} time */
function dateOf(time) {
  // The API writes UTC offsets as +0000; Date parses only +00:00.
  return new Date(time.dateTime.replace(/([+-]\d\d)(\d\d)$/, "$1:$2"));
}

/** @param {Date} date */
function day(date) {
  return t("date", { day: date.getDate(), month: MONTHS[date.getMonth()], year: date.getFullYear() });
}

/** Relative up to a week ago, then the day. @param {Date} date */
function relativeTime(date) {
  const seconds = (Date.now() - date.getTime()) / 1000;
  if (seconds > 7 * DAY) return day(date);
  const [unit, length] = UNITS.find(([, length]) => seconds >= length) ?? ["now", 1];
  const count = Math.floor(seconds / length);
  return t(unit === "days_ago" && count === 1 ? "yesterday" : unit, { count });
}

// The exact time as a tooltip.
document.addEventListener("pointerover", ({ target }) => {
  const time = /** @type {Element} */ (target).closest?.("time");
  if (time && !time.title) time.title = dateOf(time).toLocaleString(locale, { dateStyle: "full", timeStyle: "short" });
});
