import { randomBytes, randomUUID } from "node:crypto";
import type { Command } from "commander";
import { type About, ASK, CONSOLE_PATH } from "../../../console/about.ts";
import { LocalError } from "../../../local/local-error.ts";
import { authorizeBy } from "../../client/authorize.ts";
import { wholeNumber } from "../arguments.ts";
import { CliError } from "../cli-error.ts";
import { cloudLog } from "../cloud-log.ts";
import { examples } from "../examples.ts";
import { type Open, withHint } from "../session.ts";
import type { Target } from "../target.ts";

const CONSOLE_PORT = 4600;

const ABOUT = `
The command runs until Ctrl-C. It serves the console on this machine only, and passes the calls of the
console on to the API with your own credentials. So everything that you do there is done in your name.
The printed address contains a key. Without the key, other users and programs of this machine cannot
call the API through the console. Anyone who has the address can, so do not pass it on.

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
    .action(async ({ port }: { port: number }) => {
      const { output, target, client, surroundings } = open();
      const found = await target();
      const api = await client();
      surroundings.endUnread();
      const { consolePages } = await import("../../../console/pages.ts");
      const { readPageFiles } = await import("../../../console/page-files.ts");
      const { openProxy } = await import("../../../console/proxy.ts");
      const authorize = withHint(() => authorizeBy(found));
      const pages = consolePages(await readPageFiles(), ASK);
      const key = randomUUID();
      const host = `minutehand-${randomBytes(16).toString("hex")}.localhost`;
      const log = (job: string, signal: AbortSignal) => cloudLog(api, job, surroundings.clock(), signal);
      const options = { pages, about: aboutOf(found), log, url: found.url, authorize, key, host, port };
      const proxy = await openProxy(options).catch((error: unknown) => {
        throw error instanceof LocalError ? new CliError(error.message) : error;
      });
      const address = `${proxy.address}${CONSOLE_PATH}#key=${key}`;
      const text = `The console of ${found.stack?.name ?? found.url} is at ${address} until Ctrl-C.`;
      await output.told({ url: address }, text);
      await surroundings.interrupted();
      await proxy.stop();
    });
  examples(command, ["minutehand console --stack Shop", "minutehand console --url https://api.example.com"]);
  command.addHelpText("after", ABOUT);
}

function aboutOf({ url, auth, stack }: Target): About {
  return {
    queue: stack?.name ?? new URL(url).host,
    url,
    auth: typeof auth === "string" ? auth : "bearer",
    hasLive: false,
  };
}
