// Seed data: two users and their posts, with texts that tend to break layouts.

import { ApiUser } from "./api.js";
import { photo } from "./photos.js";

const MESSAGES = [
  "First light over the harbour",
  "Die Donaudampfschifffahrtsgesellschaftskapitänsmützenaufbewahrungsvorrichtung ist wieder offen.",
  "مساء الخير من الشاطئ، كان اليوم طويلاً وجميلاً",
  "No filter, no tripod, no coffee ☕️🌄👩‍👩‍👧 #Morgenröte",
  undefined,
  `${"A long walk, told slowly. ".repeat(24)}\n\nThe end.`,
  `https://example.org/${"very-long-address/".repeat(8)}`,
  "<b>Not bold</b> & \"not\" markup",
];

/**
 * @typedef {object} SeedData
 * @property {string} base
 * @property {ApiUser} ada author of every second post, and the owner of the instance
 * @property {ApiUser} bob author of the others; likes every third post
 * @property {import("./api.js").Post[]} posts newest first; the newest is Ada's, with a message and a like
 */

/**
 * @param {import("./service.js").Service} service
 * @param {number} [count] by default more than one page of the feed
 * @returns {Promise<SeedData>}
 */
export async function seed(service, count = 26) {
  const { base } = service;
  const ada = await ApiUser.join(base, "ada");
  const bob = await ApiUser.join(base, "bob_with-a.rather+long@name_that_goes_on");
  const posts = [];
  for (let number = count - 1; number >= 0; number--) {
    const author = number % 2 ? bob : ada;
    // Small photos are faster; only the newest posts are checked by eye.
    const picture = await photo(number % 9, number < 9 ? {} : { size: [400, 300] });
    posts.unshift(await author.post(picture, { message: MESSAGES[number % MESSAGES.length], alt: number % 3 ? undefined : "Hills below a wide sky" }));
  }
  service.operator("user", "role", "ada", "owner");
  if (count > 1) await ada.call("POST", `/posts/${posts[1].id}/reports`, 201, new URLSearchParams({ reason: "This is an advertisement." }));
  for (const post of posts.filter((_, index) => index % 3 === 0)) await bob.like(post.id);
  return { base, ada, bob, posts };
}
