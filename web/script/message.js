// Links in a message: web addresses, @usernames and #tags, as `pages/message.rs` finds them.

const OPENING = /^[(["'„“‘«]+/;
const CLOSING = /[.,;:!?)\]"'“”]+$/;
const NAME = /^@(?!\.{1,2}$)[A-Za-z0-9_.@+-]{1,64}$/;
// Without the letters that are drawn as spaces.
const TAG = /^#(?!\p{M})(?:(?![\u115f\u1160\u3164\uffa0])[\p{L}\p{M}\p{Nd}_])+/u;
// What stands before an @ would look like the host. Hidden characters would turn or split what is read.
const FORBIDDEN = String.raw`\s\p{Cc}"<>\\^\x60{|}\u200b\u2028-\u202e\u2060-\u2069\ufeff`;
const ADDRESS = new RegExp(`^https?://[\\p{L}\\p{N}\\[][^@/?#${FORBIDDEN}]*([/?#][^${FORBIDDEN}]*)?$`, "iu");

/** The tag that a word begins with, with its #. @param {string} word */
function tagAtStart(word) {
  const tag = TAG.exec(word)?.[0] ?? "";
  return /[\p{L}_]/u.test(tag) && [...tag.toLowerCase()].length <= 65 ? tag : "";
}

/** @param {string} text @returns {(string | HTMLAnchorElement)[]} text and links */
export function messageNodes(text) {
  /** @type {(string | HTMLAnchorElement)[]} */
  const nodes = [];
  let plain = "";
  for (const piece of text.split(/(\p{White_Space})/u)) {
    const start = OPENING.exec(piece)?.[0].length ?? 0;
    const tag = tagAtStart(piece.slice(start));
    const word = tag || piece.slice(start).replace(CLOSING, "");
    const tagPath = tag && `/tags/${encodeURIComponent(tag.slice(1).toLowerCase())}`;
    const href = tagPath || (NAME.test(word) ? `/${word}` : ADDRESS.test(word) ? word : "");
    if (!href) {
      plain += piece;
      continue;
    }
    const link = Object.assign(document.createElement("a"), { href, textContent: word });
    if (!href.startsWith("/")) link.rel = "nofollow ugc noopener";
    nodes.push(plain + piece.slice(0, start), link);
    plain = piece.slice(start + word.length);
  }
  return [...nodes, plain];
}

/** Shows the link to the rest of a message while it is cut. */
const cutMessages = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const more = /** @type {HTMLElement | null} */ (target.nextElementSibling);
    if (more) more.hidden = target.scrollHeight <= target.clientHeight + 1;
  }
});

/** @param {Element} message in a list of posts */
export function watchMessage(message) {
  cutMessages.observe(message);
}

for (const message of document.querySelectorAll(".feed .message")) watchMessage(message);
