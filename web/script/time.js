// Formats <time> elements in the page's locale and the browser's time zone.

import { locale } from "./i18n.js";

const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" });
const day = new Intl.DateTimeFormat(locale, { dateStyle: "medium" });
const full = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "short" });

/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

/** @param {ParentNode} root */
export function formatTimes(root) {
  for (const time of root.querySelectorAll("time")) {
    // The API writes UTC offsets as +0000; Date parses only +00:00.
    const date = new Date(time.dateTime.replace(/([+-]\d\d)(\d\d)$/, "$1:$2"));
    if (Number.isNaN(date.getTime())) continue;
    time.textContent = time.dataset.format === "day" ? day.format(date) : relativeTime(date);
    time.title = full.format(date);
  }
}

/** Relative up to a week ago, then the day. @param {Date} date */
function relativeTime(date) {
  const seconds = (date.getTime() - Date.now()) / 1000;
  if (seconds < -7 * 86400) return day.format(date);
  const [unit, length] = UNITS.find(([, length]) => -seconds >= length) ?? ["second", 1];
  return relative.format(Math.min(0, Math.round(seconds / length)), unit);
}
