// How fast the pages are for a phone on a slow network, by Lighthouse: `cargo run --release -p bench -- pages`.
// Told, not judged: the figures depend on the machine. The aim is 95.

import { verdict } from "./lib/lighthouse.js";
import { scene } from "./lib/scene.js";
import { Service } from "./lib/service.js";
import { pages } from "./pages.js";

const ROUNDS = 5;
const AIM = 95;

const service = await Service.start();
try {
  const full = await scene(service.base);
  const judged = pages.filter(({ lighthouse }) => lighthouse);
  /** @type {Map<string, number[]>} */
  const scores = new Map(judged.map(({ name }) => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const entry of judged) {
      const { scores: seen } = await verdict(full.base + (await entry.path(full)));
      scores.get(entry.name)?.push(Math.round(100 * seen.performance));
    }
  }
  console.log(`\n| page | performance, median of ${ROUNDS} | from–to | aim ${AIM} |\n|---|---:|---:|---|`);
  for (const [name, seen] of scores) {
    const sorted = [...seen].sort((one, other) => one - other);
    const median = sorted[Math.floor(sorted.length / 2)];
    console.log(`| ${name} | ${median} | ${sorted[0]}–${sorted.at(-1)} | ${median >= AIM ? "✔ met" : "✘ missed"} |`);
  }
} finally {
  await service.end();
}
