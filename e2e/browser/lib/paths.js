// Paths: the repository, the binary under test, the browser, and the output of a run.

import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../../", import.meta.url));

/** For review after a run; also the last state of failed tests. */
export const screenshots = path.join(root, "target/screenshots");

/** Generated photos are cached between runs: drawing them takes longer than reading them. */
export const photoCache = path.join(root, "target/browser-photos");

export function binary() {
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
