import { inject } from "vitest";
import { ASK } from "../../console/about.ts";
import type { ReadHistory } from "../../console/history.ts";
import { readPageFiles } from "../../console/page-files.ts";
import { consolePages } from "../../console/pages.ts";
import { openProxy } from "../../console/proxy.ts";

const KEY = "a-key-of-this-test";

/** The console of the tests' stack, as `minutehand console` serves it, with a history that the test gives. */
export async function openScriptedConsole(history: ReadHistory) {
  const url = inject("stackUrl");
  const { address, stop } = await openProxy({
    pages: consolePages(await readPageFiles(), ASK),
    about: { queue: "Shop", url, auth: "none", hasLive: false },
    history,
    url,
    authorize: async ({ headers }) => headers,
    key: KEY,
    host: "minutehand-of-this-test.localhost",
    port: 0,
  });
  return { base: address, stop, withKey: (path: string) => `${path}#key=${KEY}` };
}
