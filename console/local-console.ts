import type { StackConsole } from "../local/embedded-stack.ts";
import { CONSOLE_PATH, LIVE_PATH, LOGS_PATH } from "./about.ts";
import { createJobLogs } from "./job-logs.ts";
import { createLive } from "./live.ts";
import { readPageFiles } from "./page-files.ts";
import { consolePages } from "./pages.ts";

/** Served on the port of the stack's API. Follows the stack's log. */
export async function localConsole(): Promise<StackConsole> {
  const live = createLive();
  const logs = createJobLogs();
  const about = { queue: "local stack", auth: "none", hasLive: true } as const;
  return {
    path: CONSOLE_PATH,
    pages: consolePages(await readPageFiles(), about, { [LIVE_PATH]: live.stream, [LOGS_PATH]: logs.answer }),
    onLine: (line) => {
      live.add(line);
      logs.add(line);
    },
  };
}
