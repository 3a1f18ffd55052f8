import { randomBytes, randomUUID } from "node:crypto";
import type { Command } from "commander";
import { type About, ASK, CONSOLE_PATH, HISTORY_PATH, LOGS_PATH } from "../../../console/about.ts";
import type { ReadHistory } from "../../../console/history.ts";
import { LocalError } from "../../../local/local-error.ts";
import { authorizeBy } from "../../client/authorize.ts";
import { wholeNumber } from "../arguments.ts";
import { CliError } from "../cli-error.ts";
import { cloudLog } from "../cloud-log.ts";
import { examples } from "../examples.ts";
import { type KnownQueue, knownQueue } from "../known-queue.ts";
import { type Open, type Session, withHint } from "../session.ts";
import { stackHistory } from "../stack-history.ts";
import type { Target } from "../target.ts";
import { STOP_MS, unfinishedTexts } from "../unfinished-actions.ts";

const CONSOLE_PORT = 4600;

const NEEDS_STACK =
  "CloudWatch has the history of a deployed queue, and finds it by its stack: start the console with --stack";

const ABOUT = `
The command runs until Ctrl-C. It serves the console on this machine only, and passes the calls of the
console on to the API with your own credentials. So everything that you do there is done in your name.
The printed address contains a key. Without the key, other users and programs of this machine cannot
call the API through the console. Anyone who has the address can, so do not pass it on.

The command itself carries on what you do to many jobs, so you may close the page. Ctrl-C stops it, and
prints the commands that do the rest. With --view-only, the command refuses each change.

Each start prints an address with another host. No page that another program served before can get
the key from it. Chrome, Edge and Firefox find the host by themselves. For Safari, add the line
"127.0.0.1 <host>" to /etc/hosts first. For curl, add --resolve <host>:<port>:127.0.0.1.`;

export function addConsole(program: Command, open: Open): void {
  const command = program
    .command("console")
    .description("serve the console of a deployed queue on this machine")
    .option(
      "--port <n>",
      "port of the console on this machine; 0 picks a free port",
      wholeNumber(0, 65_535),
      CONSOLE_PORT,
    )
    .option("--view-only", "show everything, and refuse each change")
    .action((flags: Flags) => serve(open(), flags));
  examples(command, [
    "minutehand console --stack Shop",
    "minutehand console --url https://api.example.com",
    "minutehand console --stack Shop --view-only",
  ]);
  command.addHelpText("after", ABOUT);
}

type Flags = { readonly port: number; readonly viewOnly?: true };

async function serve(session: Session, { port, viewOnly }: Flags): Promise<void> {
  const { output, surroundings } = session;
  const found = await session.target();
  const api = await session.client();
  surroundings.endUnread();
  const { consolePages } = await import("../../../console/pages.ts");
  const { readPageFiles } = await import("../../../console/page-files.ts");
  const { answerHistory, answerLog } = await import("../../../console/own-answers.ts");
  const { openProxy } = await import("../../../console/proxy.ts");
  const authorize = withHint(() => authorizeBy(found));
  const pages = consolePages(await readPageFiles(), ASK);
  const key = randomUUID();
  const host = `minutehand-${randomBytes(16).toString("hex")}.localhost`;
  const about = { ...aboutOf(found), ...(viewOnly && { isViewOnly: true }) };
  const queue = knownQueue(() => api.topics(), surroundings.clock);
  const own = {
    [HISTORY_PATH]: answerHistory(historyOf(found, queue, surroundings.clock)),
    [LOGS_PATH]: answerLog(async (job, signal) => cloudLog(api, job, await queue.now(), signal)),
  };
  const options = { pages, about, own, url: found.url, authorize, key, host, port };
  const proxy = await openProxy(options).catch((error: unknown) => {
    throw error instanceof LocalError ? new CliError(error.message) : error;
  });
  session.atInterrupt(async () => {
    const unfinished = await proxy.stopActions(surroundings.wait(STOP_MS));
    for (const text of unfinishedTexts(unfinished, found, session.options)) output.note(text);
    await proxy.stop();
  });
  const address = `${proxy.address}${CONSOLE_PATH}#key=${key}`;
  const text = `The console of ${found.stack?.name ?? found.url} is at ${address} until Ctrl-C.`;
  await output.told({ url: address }, text);
  // Only Ctrl-C ends the command, after the work above.
  await new Promise<never>(() => {});
}

function historyOf({ stack }: Target, queue: KnownQueue, clock: () => number): ReadHistory {
  if (stack === undefined) return async () => ({ why: NEEDS_STACK });
  return stackHistory(stack.name, { clock, queue });
}

function aboutOf({ url, auth, stack }: Target): About {
  return {
    queue: stack?.name ?? new URL(url).host,
    url,
    auth: typeof auth === "string" ? auth : "bearer",
    hasLive: false,
  };
}
