// Links in a message: web addresses and @usernames, as `pages/message.rs` finds them.

const OPENING = /^[(["'„“‘«]+/;
const CLOSING = /[.,;:!?)\]"'“”]+$/;
const NAME = /^@(?!\.{1,2}$)[A-Za-z0-9_.@+-]{1,64}$/;
const ADDRESS = /^https?:\/\/[\p{L}\p{N}[]/iu;

/** @param {string} text @returns {Node[]} text and links */
export function messageNodes(text) {
  const nodes = [];
  for (const piece of text.split(/(\s)/)) {
    const start = OPENING.exec(piece)?.[0].length ?? 0;
    const word = piece.slice(start).replace(CLOSING, "");
    const href = NAME.test(word) ? `/${word}` : ADDRESS.test(word) ? word : "";
    if (!href) {
      nodes.push(new Text(piece));
      continue;
    }
    const link = Object.assign(document.createElement("a"), { href, textContent: word });
    if (!href.startsWith("/")) link.rel = "nofollow ugc noopener";
    nodes.push(new Text(piece.slice(0, start)), link, new Text(piece.slice(start + word.length)));
  }
  return nodes;
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
