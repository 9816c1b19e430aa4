// Where things are: the repository, the program under test, the browser, and what a run leaves behind.

import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Looked at by people after a run; also where a failed story leaves what it saw last. */
export const screenshots = path.join(root, "target/screenshots");

/** Drawing photos takes longer than reading them, so they stay between runs. */
export const photoCache = path.join(root, "target/browser-photos");

export function program() {
  const given = process.env.PINHOLE_BIN;
  const file = given ? path.resolve(given) : path.join(root, "target/debug/pinhole");
  if (!existsSync(file)) throw new Error(`${file} is missing: build it with \`cargo build -p server\`, or set PINHOLE_BIN`);
  return file;
}

export function chromium() {
  const file = process.env.CHROMIUM ?? "/usr/bin/chromium";
  if (!existsSync(file)) throw new Error(`${file} is missing: run scripts/browser, or set CHROMIUM`);
  return file;
}
