// The service under test: the real binary with its own port and data folder.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";

import { binary } from "./paths.js";

/** For startup and shutdown, on a machine busy with browsers. */
const TIMEOUT_MS = 30_000;

/** Services to kill, and folders to remove, when this process exits early. @type {Set<Service>} */
const running = new Set();
process.on("exit", () => {
  for (const service of running) {
    service.process?.kill("SIGKILL");
    rmSync(service.folder, { recursive: true, force: true });
  }
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(1));

export class Service {
  folder = mkdtempSync(path.join(os.tmpdir(), "pinhole-browser-"));
  /** The log lines since the first start. @type {string[]} */
  log = [];
  /** `http://127.0.0.1:40123`, the same after every start. @type {string} */
  base = "";
  /** @type {import("node:child_process").ChildProcess | undefined} */
  process;

  /** @param {string[]} [flags] more flags for `serve` */
  static async start(flags = []) {
    const service = new Service();
    running.add(service);
    await service.launch(flags);
    return service;
  }

  /** The people and photos of `pinhole demo`. */
  static async demo() {
    const service = new Service();
    running.add(service);
    await service.run(["demo"], { PINHOLE_LISTEN: "127.0.0.1:0", PINHOLE_RATE_LIMITS: "off", PINHOLE_LOG_FORMAT: "json" });
    return service;
  }

  /** Starts the binary; a restart uses the same folder and port. @param {string[]} [flags] */
  async launch(flags = []) {
    const listen = this.base ? new URL(this.base).host : "127.0.0.1:0";
    await this.run(["serve", "--listen", listen, "--data-dir", path.join(this.folder, "data"), "--rate-limits", "off", "--log-format", "json", ...flags]);
  }

  /** Until it is ready. @param {string[]} args @param {Record<string, string>} [settings] */
  async run(args, settings = {}) {
    const child = spawn(binary(), args, { env: { ...environment(), ...settings }, stdio: ["ignore", "ignore", "pipe"] });
    this.process = child;
    this.base = await new Promise((resolve, reject) => {
      const fail = (/** @type {string} */ reason) => reject(new Error(`${reason}:\n${this.tail()}`));
      const timer = setTimeout(() => fail("the service did not log its address"), TIMEOUT_MS);
      child.once("error", reject);
      child.once("exit", (code) => fail(`the service exited with ${code} instead of starting`));
      readline.createInterface({ input: child.stderr }).on("line", (line) => {
        this.log.push(line);
        const event = parseEvent(line);
        if (event?.message !== "ready") return;
        clearTimeout(timer);
        resolve(event.address.replace(/\/$/, ""));
      });
    });
  }

  /** Runs a command of the operator, such as `user role ada owner`, beside the service. @param {string[]} args */
  operator(...args) {
    const { status, stderr } = spawnSync(binary(), [...args, "--data-dir", path.join(this.folder, "data")], { encoding: "utf8", env: environment() });
    assert.equal(status, 0, stderr);
  }

  /** Stops the binary by SIGTERM and expects a graceful shutdown. The folder stays. */
  async stop() {
    const child = this.process;
    if (!child) return;
    this.process = undefined;
    const exited = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined;
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), TIMEOUT_MS);
    if (exited) await exited;
    clearTimeout(timer);
    assert.equal(child.exitCode, 0, `the service exited with ${child.exitCode ?? child.signalCode}:\n${this.tail()}`);
  }

  /** At the end of a test: stops the service, removes its folder, and expects no error in the log. */
  async dispose() {
    try {
      await this.stop();
    } finally {
      await rm(this.folder, { recursive: true, force: true });
      running.delete(this);
    }
    const errors = this.log.filter((line) => parseEvent(line)?.level === "ERROR");
    assert.deepEqual(errors, [], "the service logged errors");
  }

  tail() {
    return this.log.slice(-30).join("\n");
  }
}

/** Without the settings of the developer, which must not reach the program. */
function environment() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PINHOLE_")));
}

/** @param {string} line */
function parseEvent(line) {
  try {
    return JSON.parse(line);
  } catch {
    // The backtrace of a panic is not JSON; it is only shown in the log's tail.
    return undefined;
  }
}
