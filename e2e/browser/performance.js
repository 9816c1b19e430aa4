// Lighthouse performance scores, as a phone on a slow network: `cargo run --release -p bench -- pages`.
// Reported, not asserted: the scores depend on the machine. The target is 95.

import { audit } from "./lib/lighthouse.js";
import { seed } from "./lib/seed.js";
import { Service } from "./lib/service.js";
import { pages } from "./pages.js";

const ROUNDS = 5;
const TARGET = 95;

const service = await Service.start();
try {
  const data = await seed(service);
  const measured = pages.filter(({ lighthouse }) => lighthouse);
  /** @type {Map<string, number[]>} */
  const scores = new Map(measured.map(({ name }) => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const entry of measured) {
      const { scores: result } = await audit(data.base + (await entry.path(data)));
      scores.get(entry.name)?.push(Math.round(100 * result.performance));
    }
  }
  console.log(`\n| page | performance, median of ${ROUNDS} | from–to | target ${TARGET} |\n|---|---:|---:|---|`);
  for (const [name, values] of scores) {
    const sorted = [...values].sort((one, other) => one - other);
    const median = sorted[Math.floor(sorted.length / 2)];
    console.log(`| ${name} | ${median} | ${sorted[0]}–${sorted.at(-1)} | ${median >= TARGET ? "✔ met" : "✘ missed"} |`);
  }
} finally {
  await service.dispose();
}
