// Times as people say them, in their own language and time zone.

import { language } from "./words.js";

const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
const day = new Intl.DateTimeFormat(language, { dateStyle: "medium" });
const moment = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "short" });

/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

/** @param {ParentNode} within */
export function tellTimes(within) {
  for (const time of within.querySelectorAll("time")) {
    // The contract writes offsets without a colon.
    const then = new Date(time.dateTime.replace(/([+-]\d\d)(\d\d)$/, "$1:$2"));
    if (Number.isNaN(then.getTime())) continue;
    time.textContent = time.dataset.form === "day" ? day.format(then) : spoken(then);
    time.title = moment.format(then);
  }
}

/** @param {Date} then */
function spoken(then) {
  const seconds = (then.getTime() - Date.now()) / 1000;
  if (seconds < -7 * 86400) return day.format(then);
  const [unit, length] = UNITS.find(([, length]) => -seconds >= length) ?? ["second", 1];
  return relative.format(Math.min(0, Math.round(seconds / length)), unit);
}
