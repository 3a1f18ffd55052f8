import type { IncomingMessage } from "node:http";
import type { StackConsole } from "../local/embedded-stack.ts";
import type { Call } from "../src/client/call.ts";
import { CONSOLE_PATH } from "./about.ts";
import { callForActions } from "./call-for-actions.ts";
import { carriedRoute } from "./carried-route.ts";
import { createLive } from "./live.ts";
import { readPageFiles } from "./page-files.ts";
import { consolePages } from "./pages.ts";

/** Served on the port of the stack's API. Follows the stack's log. */
export async function localConsole(): Promise<StackConsole> {
  const live = createLive();
  const actions = carriedRoute(callOwnStack);
  const about = { queue: "local stack", auth: "none", hasLive: true } as const;
  return {
    path: CONSOLE_PATH,
    pages: consolePages(await readPageFiles(), about, { live, actions }),
    onLine: live.add,
  };
}

/** The page and the API of the local stack have the same port. */
function callOwnStack({ socket: { localPort } }: IncomingMessage): Call {
  return callForActions(`http://127.0.0.1:${localPort}`, async ({ headers }) => headers);
}
