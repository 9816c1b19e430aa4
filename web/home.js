// Shows the newest photos, using the API like any other client. Text is only ever set as text.

const status = document.getElementById("status");
const posts = document.getElementById("posts");
const more = document.getElementById("more");
let next = "/feed?limit=24";

async function load() {
  more.disabled = true;
  try {
    const answer = await fetch(next, { headers: { accept: "application/json" } });
    const page = await answer.json();
    if (!answer.ok) throw new Error(page.error?.message ?? answer.statusText);
    posts.append(...page.data.map(show));
    // The link is absolute, on the public address; this page stays where it was opened.
    next = page.paging.next && new URL(page.paging.next).search.replace(/^/, "/feed");
    more.hidden = !next;
    status.textContent = "";
    if (!posts.children.length) status.append("No photos yet. ", link("/docs/", "The API page"), " shows how to post the first one.");
  } catch (error) {
    status.textContent = `The photos could not be loaded: ${error.message}. Reload to try again.`;
  }
  more.disabled = false;
}

function show(post) {
  const item = document.createElement("li");
  const image = document.createElement("img");
  const at = (side) => `/photos/${post.photo.id}/${side}x${side}`;
  image.src = at(512);
  image.srcset = `${at(320)} 320w, ${at(512)} 512w, ${at(1024)} 1024w`;
  image.sizes = "(min-width: 40rem) 18rem, 100vw";
  image.loading = "lazy";
  image.alt = post.message ? post.message.slice(0, 120) : `A photo by ${post.user.username}`;
  const likes = post.like_count === 1 ? "1 like" : `${post.like_count} likes`;
  item.append(image, line("by", post.user.username, likes));
  if (post.message) item.append(line("message", post.message));
  return item;
}

function link(address, text) {
  return Object.assign(document.createElement("a"), { href: address, textContent: text });
}

function line(name, ...texts) {
  const paragraph = document.createElement("p");
  paragraph.className = name;
  paragraph.dir = "auto";
  if (texts.length === 1) paragraph.textContent = texts[0];
  else paragraph.append(...texts.map((text) => Object.assign(document.createElement("span"), { textContent: text })));
  return paragraph;
}

more.addEventListener("click", load);
load();
