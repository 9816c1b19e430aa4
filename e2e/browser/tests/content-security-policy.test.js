// Content security policy: no inline scripts, no other origins, no framing.

import assert from "node:assert/strict";

import { browserTest } from "../lib/browser-test.js";
import { expectError } from "../lib/page-errors.js";
import { photo } from "../lib/photos.js";

const PATHS = (/** @type {number} */ id) => ["/", `/p/${id}`, "/@ada", "/join", "/login", "/new", "/offline", "/p/123456789", "/nowhere"];

browserTest("every page has a strict content security policy and complies with it", async ({ service, join }) => {
  const ada = await join("ada");
  const { id } = await ada.post(await photo(0), { message: "mine" });
  for (const path of PATHS(id)) {
    const response = await fetch(service.base + path, { headers: { accept: "text/html", authorization: `Bearer ${ada.token}` } });
    const policy = new Map((response.headers.get("content-security-policy") ?? "").split(";").map((part) => {
      const [name, ...values] = part.trim().split(/\s+/);
      return [name, values.join(" ")];
    }));
    const expected = { "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "connect-src": "'self'", "frame-ancestors": "'none'", "base-uri": "'none'", "form-action": "'self'", "require-trusted-types-for": "'script'" };
    for (const [name, value] of Object.entries(expected)) assert.equal(policy.get(name), value, `${path} ${name}`);
    assert.doesNotMatch(response.headers.get("content-security-policy") ?? "", /unsafe|\*|https?:/, path);
    assert.equal(response.headers.get("x-content-type-options"), "nosniff", path);

    const html = await response.text();
    assert.match(html, /<main/, path);
    // The only inline script elements are JSON data.
    const inline = [...html.matchAll(/<script(?![^>]*\bsrc=)[^>]*>/g)].map(([tag]) => tag);
    assert.deepEqual(inline.filter((tag) => !tag.includes('type="application/json"')), [], path);
    assert.doesNotMatch(html, /<style|\sstyle=|\son[a-z]+=/, path);
    const urls = [...html.matchAll(/\s(?:src|href|action)="([^"]*)"/g)].map(([, url]) => url);
    const foreign = urls.filter((url) => !/^(\/(?!\/)|#|data:image\/|$)/.test(url) && !url.startsWith(service.base));
    assert.deepEqual(foreign, [], path);
  }
});

browserTest("an injected script does not run", async ({ open }) => {
  const page = await open({ serviceWorker: false });
  expectError(page, /Content Security Policy|Trusted/);
  await page.goto("/");
  const results = await page.evaluate(() => {
    const attempt = (/** @type {() => void} */ work) => {
      try {
        work();
        return "executed";
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
  for (const how of /** @type {const} */ (["markup", "text", "address"])) assert.equal(results[how], "refused", how);
  assert.equal(await page.evaluate("window.hit"), undefined);
});
