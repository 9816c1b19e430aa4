// A small world to look at: a few people and photos, with the kinds of words that break layouts.

import { Person } from "./api.js";
import { photo } from "./photos.js";

const MESSAGES = [
  "First light over the harbour",
  "Die Donaudampfschifffahrtsgesellschaftskapitänsmützenaufbewahrungsvorrichtung ist wieder offen.",
  "مساء الخير من الشاطئ، كان اليوم طويلاً وجميلاً",
  "No filter, no tripod, no coffee ☕️🌄👩‍👩‍👧",
  undefined,
  `${"A long walk, told slowly. ".repeat(24)}\n\nThe end.`,
  `https://example.org/${"very-long-address/".repeat(8)}`,
  "<b>Not bold</b> & \"not\" markup",
];

/**
 * @typedef {object} Scene
 * @property {string} base
 * @property {Person} ada posted every second photo
 * @property {Person} bob posted the others, and likes
 * @property {import("./api.js").Post[]} posts newest first; the newest has a message and a like, and is Ada's
 */

/** @param {string} base @param {number} [count] enough for a second page of the feed @returns {Promise<Scene>} */
export async function scene(base, count = 26) {
  const [ada, bob] = [await Person.join(base, "ada"), await Person.join(base, "bob_with-a.rather+long@name_that_goes_on")];
  const posts = [];
  for (let number = count - 1; number >= 0; number--) {
    const author = number % 2 ? bob : ada;
    // Those at the end of the list are seldom looked at, and small ones come sooner.
    const picture = await photo(number % 9, number < 9 ? {} : { size: [400, 300] });
    posts.unshift(await author.post(picture, { message: MESSAGES[number % MESSAGES.length], alt: number % 3 ? undefined : "Hills below a wide sky" }));
  }
  for (const post of posts.filter((_, index) => index % 3 === 0)) await bob.like(post.id);
  return { base, ada, bob, posts };
}
