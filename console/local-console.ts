import type { StackConsole } from "../local/embedded-stack.ts";
import { CONSOLE_PATH } from "./about.ts";
import { createLive } from "./live.ts";
import { createLocalHistory } from "./local-history.ts";
import { readPageFiles } from "./page-files.ts";
import { consolePages } from "./pages.ts";

/** Served on the port of the stack's API. Follows the stack's log. */
export async function localConsole(): Promise<StackConsole> {
  const live = createLive();
  let clock: () => number = Date.now;
  const history = createLocalHistory(() => clock());
  const about = { queue: "local stack", auth: "none", hasLive: true } as const;
  return {
    path: CONSOLE_PATH,
    pages: consolePages(await readPageFiles(), about, {
      live,
      history: async (asked) => history.read(asked),
    }),
    onStart: (stackClock) => {
      clock = stackClock;
    },
    onLine: (line) => {
      live.add(line);
      history.add(line);
    },
  };
}
