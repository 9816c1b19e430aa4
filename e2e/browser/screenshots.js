// Screenshots of every page at four sizes in both themes, to be looked at: `scripts/browser --screenshots`.

import { close, open } from "./lib/browser.js";
import { allowError, setColorScheme } from "./lib/page-errors.js";
import { screenshot, waitUntilStable } from "./lib/screenshot.js";
import { seed } from "./lib/seed.js";
import { Service } from "./lib/service.js";
import { pages } from "./pages.js";

const WINDOWS = [[390, 844], [820, 1180], [1440, 900], [1920, 1080]];

const service = await Service.start();
const empty = await Service.start();
try {
  const data = await seed(service);
  const emptyData = await seed(empty, 0);
  for (const entry of pages) {
    const { base, ...users } = entry.empty ? emptyData : data;
    for (const [width, height] of WINDOWS) {
      const page = await open(base, { device: width < 800 ? "phone" : "desktop", as: entry.as && users[entry.as], serviceWorker: false });
      allowError(page, /./);
      await page.setViewportSize({ width, height });
      await page.goto(await entry.path(entry.empty ? emptyData : data));
      await entry.shows(page).waitFor();
      for (const scheme of /** @type {const} */ (["light", "dark"])) {
        await setColorScheme(page, scheme);
        await waitUntilStable(page);
        await screenshot(page, `${entry.name}-${width}`);
      }
      await close(page);
    }
    console.log(entry.name);
  }
} finally {
  await service.dispose();
  await empty.dispose();
}
process.exit();
