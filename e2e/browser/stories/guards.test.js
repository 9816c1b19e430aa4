// What the pages let nobody do: run foreign words, load from elsewhere, be framed.

import assert from "node:assert/strict";

import { photo } from "../lib/photos.js";
import { story } from "../lib/story.js";
import { announce } from "../lib/watch.js";

const PATHS = (/** @type {number} */ id) => ["/", `/p/${id}`, "/@ada", "/join", "/login", "/new", "/offline", "/p/123456789", "/nowhere"];

story("every page comes with a strict policy, and keeps to it", async ({ service, join }) => {
  const ada = await join("ada");
  const { id } = await ada.post(await photo(0), { message: "mine" });
  for (const path of PATHS(id)) {
    const answer = await fetch(service.base + path, { headers: { accept: "text/html", authorization: `Bearer ${ada.token}` } });
    const policy = new Map((answer.headers.get("content-security-policy") ?? "").split(";").map((part) => {
      const [name, ...values] = part.trim().split(/\s+/);
      return [name, values.join(" ")];
    }));
    const expected = { "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "connect-src": "'self'", "frame-ancestors": "'none'", "base-uri": "'none'", "form-action": "'self'", "require-trusted-types-for": "'script'" };
    for (const [name, value] of Object.entries(expected)) assert.equal(policy.get(name), value, `${path} ${name}`);
    assert.doesNotMatch(answer.headers.get("content-security-policy") ?? "", /unsafe|\*|https?:/, path);
    assert.equal(answer.headers.get("x-content-type-options"), "nosniff", path);

    const html = await answer.text();
    assert.match(html, /<main/, path);
    // The words for scripts are data; everything else has an address.
    const inline = [...html.matchAll(/<script(?![^>]*\bsrc=)[^>]*>/g)].map(([tag]) => tag);
    assert.deepEqual(inline.filter((tag) => !tag.includes('type="application/json"')), [], path);
    assert.doesNotMatch(html, /<style|\sstyle=|\son[a-z]+=/, path);
    const addresses = [...html.matchAll(/\s(?:src|href|action)="([^"]*)"/g)].map(([, address]) => address);
    const foreign = addresses.filter((address) => !/^(\/(?!\/)|#|data:image\/|$)/.test(address) && !address.startsWith(service.base));
    assert.deepEqual(foreign, [], path);
  }
});

story("a script that got into a page does not run", async ({ open }) => {
  const page = await open({ worker: false });
  announce(page, /Content Security Policy|Trusted/);
  await page.goto("/");
  const refusals = await page.evaluate(() => {
    const attempt = (/** @type {() => void} */ work) => {
      try {
        work();
        return "done";
      } catch {
        return "refused";
      }
    };
    return {
      markup: attempt(() => (document.body.innerHTML += "<img src=x onerror='window.hit = 1'>")),
      text: attempt(() => {
        const script = document.createElement("script");
        script.textContent = "window.hit = 1";
        document.head.append(script);
      }),
      address: attempt(() => {
        const script = document.createElement("script");
        script.src = "data:text/javascript,window.hit=1";
        document.head.append(script);
      }),
      handler: attempt(() => {
        document.body.setAttribute("onclick", "window.hit = 1");
        document.body.click();
      }),
    };
  });
  for (const how of /** @type {const} */ (["markup", "text", "address"])) assert.equal(refusals[how], "refused", how);
  assert.equal(await page.evaluate("window.hit"), undefined);
});
