import type { IncomingMessage } from "node:http";
import { basename } from "node:path";
import type { StackConsole } from "../local/embedded-stack.ts";
import { printable } from "../local/printable.ts";
import type { Call } from "../src/client/call.ts";
import { ACTIONS_PATH, CONSOLE_PATH, HISTORY_PATH, LIVE_PATH, LOGS_PATH } from "./about.ts";
import { callForActions } from "./call-for-actions.ts";
import type { Carried } from "./carried.ts";
import { carriedRoute } from "./carried-route.ts";
import { createJobLogs } from "./job-logs.ts";
import { createLive } from "./live.ts";
import { createLocalHistory } from "./local-history.ts";
import { answerHistory, answerLog } from "./own-answers.ts";
import { readPageFiles } from "./page-files.ts";
import { consolePages } from "./pages.ts";

/** The console of a local stack, and how to stop its actions before the stack stops. */
export type LocalConsole = StackConsole & { readonly stopActions: Carried["stopAll"] };

/** How many characters of the folder's name the page shows. */
const LONGEST_NAME = 40;

/** Names the stack by its folder, so that the pages of two projects differ. */
export function nameOfStack(folder: string): string {
  const name = printable(basename(folder));
  const cut = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name;
  return cut === "" ? "local stack" : `local stack of ${cut}`;
}

/** Served on the port of the stack's API. Follows the stack's log. `folder`: that of the app. */
export async function localConsole(folder: string): Promise<LocalConsole> {
  const live = createLive();
  const actions = carriedRoute(callOwnStack);
  let clock: () => number = Date.now;
  const history = createLocalHistory(() => clock());
  const logs = createJobLogs();
  const about = { queue: nameOfStack(folder), auth: "none", hasLive: true } as const;
  const own = {
    [LIVE_PATH]: live.stream,
    [LOGS_PATH]: answerLog(async (job) => logs.of(job)),
    [ACTIONS_PATH]: actions.answer,
    [HISTORY_PATH]: answerHistory(async (asked) => history.read(asked)),
  };
  return {
    path: CONSOLE_PATH,
    stopActions: actions.carried.stopAll,
    pages: consolePages(await readPageFiles(), about, own),
    onStart: (stackClock) => {
      clock = stackClock;
    },
    onLine: (line) => {
      live.add(line);
      history.add(line);
      logs.add(line);
    },
  };
}

/** The page and the API of the local stack have the same port. */
function callOwnStack({ socket: { localPort } }: IncomingMessage): Call {
  return callForActions(`http://127.0.0.1:${localPort}`, async ({ headers }) => headers);
}
