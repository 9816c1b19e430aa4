// The service under test: the real binary with its own port and folder.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";

import { program } from "./places.js";

/** How long the binary may take to announce itself or to end, on a machine busy with browsers. */
const PATIENCE = 30_000;

/** Whatever ends this process, no service and no folder stays behind. @type {Set<Service>} */
const alive = new Set();
process.on("exit", () => {
  for (const service of alive) {
    service.process?.kill("SIGKILL");
    rmSync(service.folder, { recursive: true, force: true });
  }
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(1));

export class Service {
  folder = mkdtempSync(path.join(os.tmpdir(), "pinhole-browser-"));
  /** Every line of the log since the first start. @type {string[]} */
  log = [];
  /** `http://127.0.0.1:40123`, the same after every start. @type {string} */
  base = "";
  /** @type {import("node:child_process").ChildProcess | undefined} */
  process;

  /** @param {string[]} [flags] more flags for `serve` */
  static async start(flags = []) {
    const service = new Service();
    alive.add(service);
    await service.up(flags);
    return service;
  }

  /** Starts it on its folder, the second time also on its old port. @param {string[]} [flags] */
  async up(flags = []) {
    const listen = this.base ? new URL(this.base).host : "127.0.0.1:0";
    // Settings of whoever runs the tests are none of the service's.
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PINHOLE_")));
    const child = spawn(
      program(),
      ["serve", "--listen", listen, "--data-dir", path.join(this.folder, "data"), "--rate-limits", "off", "--log-format", "json", ...flags],
      { env, stdio: ["ignore", "ignore", "pipe"] },
    );
    this.process = child;
    this.base = await new Promise((resolve, reject) => {
      const give = (/** @type {string} */ why) => reject(new Error(`${why}:\n${this.tail()}`));
      const timer = setTimeout(() => give("the service did not announce its address"), PATIENCE);
      child.once("error", reject);
      child.once("exit", (code) => give(`the service ended with ${code} instead of starting`));
      readline.createInterface({ input: child.stderr }).on("line", (line) => {
        this.log.push(line);
        const event = parsed(line);
        if (event?.message !== "ready") return;
        clearTimeout(timer);
        resolve(event.address.replace(/\/$/, ""));
      });
    });
  }

  /** Asks it to end, as an operator does, and holds it to an orderly end. The folder stays. */
  async down() {
    const child = this.process;
    if (!child) return;
    this.process = undefined;
    const ended = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined;
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE);
    if (ended) await ended;
    clearTimeout(timer);
    assert.equal(child.exitCode, 0, `the service ended with ${child.exitCode ?? child.signalCode}:\n${this.tail()}`);
  }

  /** The end of a story: ended in order, folder gone, and no error in the log. */
  async end() {
    try {
      await this.down();
    } finally {
      await rm(this.folder, { recursive: true, force: true });
      alive.delete(this);
    }
    const errors = this.log.filter((line) => parsed(line)?.level === "ERROR");
    assert.deepEqual(errors, [], "the service logged errors");
  }

  tail() {
    return this.log.slice(-30).join("\n");
  }
}

/** @param {string} line */
function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    // A panic's backtrace is not JSON, and matters only in the tail.
    return undefined;
  }
}
