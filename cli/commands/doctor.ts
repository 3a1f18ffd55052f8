import type { Command } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import {
  type Check,
  failed,
  judgeClock,
  judgeConcurrency,
  judgeNode,
  judgeStack,
  judgeSweep,
  judgeTopics,
  judgeVersions,
} from "../checks.ts";
import { CliError } from "../cli-error.ts";
import { examples } from "../examples.ts";
import { printable } from "../output.ts";
import type { Open, Session } from "../session.ts";

const STYLES = { ok: "green", warning: "yellow", failed: "red" } as const;

export function addDoctor(program: Command, open: Open): void {
  const command = program
    .command("doctor")
    .description("check Node, credentials, stack, API, versions, clock, sweep, topics and quotas")
    .action(async () => {
      const session = open();
      const { output } = session;
      let failures = 0;
      for await (const check of examine(session)) {
        if (check.result === "failed") failures++;
        const result = output.paint(STYLES[check.result], check.result.padEnd("warning".length));
        await (output.json ? output.document(check) : output.line(`${result}  ${wordsOf(check)}`));
      }
      if (failures > 0) throw new CliError(`${failures} of the checks failed`);
    });
  examples(command, ["minutehand doctor", "minutehand doctor --stack Shop --profile production --json"]);
}

function wordsOf({ check, found, todo }: Check): string {
  return printable(`${check}: ${found}${todo === undefined ? "" : `; ${todo}`}`);
}

/** One check after the other; those that need what has failed are left out. */
async function* examine(session: Session): AsyncIterable<Check> {
  const { options, surroundings } = session;
  yield judgeNode(surroundings.nodeVersion);
  const { callerArn, freeConcurrency } = await import("../../aws/account.ts");
  const [target] = await Promise.allSettled([session.target()]);
  const isSigned = target.status === "fulfilled" && target.value.auth === "iam";
  const isOnAws = isSigned || options.stack !== undefined;
  if (isOnAws) {
    const [caller] = await Promise.allSettled([callerArn()]);
    if (caller.status === "fulfilled") yield { check: "credentials", result: "ok", found: caller.value };
    else yield failed("credentials", caller.reason, "log in to AWS, or name a profile by --profile");
  }
  if (target.status === "rejected") {
    yield failed(options.stack === undefined ? "API" : "stack", target.reason);
    return;
  }
  const { url, stack } = target.value;
  if (stack !== undefined) yield judgeStack(stack.name, stack);
  const api = await session.client();
  const [health] = await Promise.allSettled([api.health()]);
  if (health.status === "rejected") {
    yield failed(
      "API",
      health.reason,
      "name another by --url or --stack, or allow these credentials to call it",
    );
    return;
  }
  yield { check: "API", result: "ok", found: url };
  yield judgeVersions(packageJson.version, health.value.version);
  yield judgeClock(await skewTo(url, surroundings.clock));
  const [topics] = await Promise.allSettled([api.topics()]);
  if (topics.status === "rejected") {
    yield failed("topics", topics.reason);
    return;
  }
  yield judgeSweep(topics.value);
  yield* judgeTopics(topics.value);
  if (!isOnAws) return;
  const [free] = await Promise.allSettled([freeConcurrency()]);
  if (free.status === "fulfilled") yield judgeConcurrency(free.value, topics.value);
  else
    yield {
      ...failed("concurrency", free.reason, "allow lambda:GetAccountSettings to see it"),
      result: "warning",
    };
}

/** How far this machine's clock is ahead of a server's, ms. Whoever may call it or not, an answer says when it was made. */
async function skewTo(url: string, clock: () => number): Promise<number> {
  const began = clock();
  const { headers } = await fetch(`${url}/health`, { method: "HEAD", redirect: "manual" });
  // It was written in the middle, and cut to whole seconds.
  return (began + clock()) / 2 - (Date.parse(headers.get("date") ?? "") + 500);
}
