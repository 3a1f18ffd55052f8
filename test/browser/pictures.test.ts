import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freshDataDir, type RunningStack, removeDataDir, startStack } from "../e2e/running-stack.ts";
import { testBrowser } from "./browser.ts";
import { HASH_FILE, PICTURES, pageHash } from "./pictures/page-hash.ts";
import { fillShop } from "./pictures/shop.ts";

/** Whether `npm run pictures` runs this file: then the pictures of the documents are replaced. Else they are thrown away. */
const isKept = process.env.MINUTEHAND_PICTURES === "keep";

const browser = testBrowser();
const dataDir = freshDataDir();
const folder = isKept ? PICTURES : mkdtempSync(join(tmpdir(), "minutehand-pictures-"));

let stack: RunningStack;
let shop: Awaited<ReturnType<typeof fillShop>>;
beforeAll(async () => {
  stack = await startStack(dataDir, 0, ["--app", "node test/browser/pictures/app.ts"]);
  shop = await fillShop(stack.url);
});
afterAll(async () => {
  await stack.kill("SIGTERM");
  removeDataDir(dataDir);
  if (!isKept) rmSync(folder, { recursive: true });
});

/** Each picture, with a text that is on the page when the page is complete. */
const SHOWN = [
  { name: "console-overview", path: () => "/console", ready: "Last 3 hours" },
  { name: "console-time", path: () => "/console/time", ready: "The numbers as a table" },
  { name: "console-job", path: () => `/console/jobs/${shop.dead}`, ready: "Last error" },
  { name: "console-dead", path: () => "/console/dead?topic=refund", ready: /the bank answered 503/ },
];

test.each(SHOWN)("$name", async ({ name, path, ready }) => {
  const page = await browser.open(path(), {
    base: stack.url,
    timezoneId: "Europe/Berlin",
    colorScheme: "light",
  });
  await page.getByText(ready).first().waitFor();
  await page.waitForLoadState("networkidle");
  // The name of the folder differs from machine to machine.
  const stackName = page.getByText(/^local stack of /).first();
  await stackName.evaluate((element) => (element.textContent = "local stack of shop"));
  const file = join(folder, `${name}.png`);
  const picture = await page.screenshot({ path: file });
  expect(picture.readUInt32BE(16)).toBe(1440);
  if (!isKept) return;
  execFileSync("pngquant", ["--force", "--ext", ".png", "--strip", "--speed", "1", file]);
  writeFileSync(HASH_FILE, `${pageHash()}\n`);
});
