import type { Command } from "commander";
import { printable } from "../../../local/printable.ts";
import { chooseDatabase } from "../../../local/processes/database.ts";
import packageJson from "../../../package.json" with { type: "json" };
import type { TopicReport } from "../../client/answers.ts";
import type { Client } from "../../client/client.ts";
import { MinutehandError } from "../../core/errors.ts";
import { inParallel } from "../../general/batches.ts";
import { missingPackages, type OptionalPackage } from "../../general/optional-packages.ts";
import { TABLE_OUTPUT } from "../../settings/stack-outputs.ts";
import {
  type Check,
  DEAD_COUNTED,
  describeDatabase,
  type ExaminedTopic,
  failed,
  judgeClock,
  judgeConcurrency,
  judgeNode,
  judgeRunner,
  judgeStack,
  judgeSweep,
  judgeTopics,
  judgeVersions,
  judgeWarmth,
} from "../checks.ts";
import { CliError } from "../cli-error.ts";
import { examples } from "../examples.ts";
import { allOf, firstOf, pageSizeFor } from "../lists.ts";
import type { Open, Session } from "../session.ts";
import { judgeTableSettings } from "../table-checks.ts";
import type { Target } from "../target.ts";

const STYLES = { ok: "green", warning: "yellow", failed: "red" } as const;

export function addDoctor(program: Command, open: Open): void {
  const command = program
    .command("doctor")
    .description("check Node, credentials, stack, clock, API, versions, sweep, topics, table and quotas")
    .action(async () => {
      const session = open();
      const { output } = session;
      let failures = 0;
      for await (const check of examine(session)) {
        if (check.result === "failed") failures++;
        const result = output.paint(STYLES[check.result], check.result.padEnd("warning".length));
        await output.toldPainted(check, `${result}  ${wordsOf(check)}`);
      }
      if (failures > 0) throw new CliError(`${failures} of the checks failed`);
    });
  examples(command, ["minutehand doctor", "minutehand doctor --stack Shop --profile production --json"]);
}

function wordsOf({ check, found, todo }: Check): string {
  return printable(`${check}: ${found}${todo === undefined ? "" : `; ${todo}`}`);
}

/** Makes one check after the other. Leaves out each check that depends on a failed check. */
async function* examine(session: Session): AsyncIterable<Check> {
  const { options, surroundings } = session;
  yield judgeNode(surroundings.nodeVersion);
  yield describeDatabase(chooseDatabase(undefined));
  const [target] = await Promise.allSettled([session.target()]);
  const { auth, region } = target.status === "fulfilled" ? target.value : {};
  const isOnAws = auth === "iam" || options.stack !== undefined;
  const needed = isOnAws ? packagesFor(options.stack) : [];
  const missing = missingPackages("doctor", needed, surroundings.isInstalled);
  if (missing !== undefined) return yield { check: "AWS SDK", result: "failed", found: missing };
  if (isOnAws) yield await examineCredentials(region);
  if (target.status === "rejected") {
    yield failed(options.stack === undefined ? "API" : "stack", target.reason);
    return;
  }
  const { url, stack } = target.value;
  if (stack !== undefined) yield judgeStack(stack.name, stack);
  // Check the clock before the API: if the clock is wrong, AWS refuses all signed calls.
  const skew = await skewTo(url, surroundings.clock);
  if (skew !== undefined) yield judgeClock(skew, await session.ahead());
  const [reached] = await Promise.allSettled([reach(session)]);
  if (reached.status === "rejected") {
    const todo = "choose another API with --url or --stack, or allow these credentials to call this one";
    yield failed("API", reached.reason, todo);
    return;
  }
  const { api, version } = reached.value;
  yield { check: "API", result: "ok", found: url };
  yield judgeVersions(packageJson.version, version);
  const own = await session.ownStack();
  if (own) yield* judgeRunner(own.record);
  const [topics] = await Promise.allSettled([api.topics()]);
  if (topics.status === "rejected") {
    yield failed("topics", topics.reason);
    return;
  }
  yield* examineTopics(api, topics.value);
  if (stack !== undefined) yield* examineTable(api, stack, surroundings.clock());
  if (isOnAws) yield* examineConcurrency(topics.value, region, stack?.name);
}

/** The optional packages whose absence fails a check of AWS, or makes it say less. */
function packagesFor(stack: string | undefined): OptionalPackage[] {
  return [
    "@aws-sdk/client-sts",
    ...(stack === undefined ? [] : (["@aws-sdk/client-cloudformation"] as const)),
    "@aws-sdk/client-lambda",
  ];
}

async function examineCredentials(region: string | undefined): Promise<Check> {
  const { callerArn } = await import("../../aws/account.ts");
  try {
    return { check: "credentials", result: "ok", found: await callerArn(region) };
  } catch (error) {
    return failed("credentials", error, "log in to AWS, or choose a profile with --profile");
  }
}

async function* examineTopics(api: Client, topics: readonly TopicReport[]): AsyncIterable<Check> {
  if (topics.length > 0) yield judgeSweep(topics);
  yield* judgeTopics(await inParallel(topics, WIDTH, (topic) => countDead(api, topic)));
}

async function* examineTable(
  api: Client,
  { name, outputs }: NonNullable<Target["stack"]>,
  now: number,
): AsyncIterable<Check> {
  const table = outputs.find(({ description }) => description === TABLE_OUTPUT)?.value;
  if (table === undefined) return;
  yield await examineSettings(table, name);
  yield await examineWarmth(api, table, now);
}

/** Compares the table with what the stack declares: a table that was restored from a backup lacks some settings. */
async function examineSettings(table: string, stack: string): Promise<Check> {
  const { wantedTable } = await import("../../aws/account.ts");
  const { tableSettings } = await import("../../aws/table-settings.ts");
  const [found, want] = await Promise.allSettled([tableSettings(table), wantedTable(stack)]);
  if (found.status === "rejected") return unknown(SETTINGS, found.reason, TABLE_RIGHTS);
  if (want.status === "rejected") return unknown(SETTINGS, want.reason, todoForTemplate(want.reason));
  return judgeTableSettings(table, found.value, want.value, stack);
}

/** Compares what the table takes at once with the busiest minute of the next hour. */
async function examineWarmth(api: Client, table: string, now: number): Promise<Check> {
  const { warmthOf } = await import("../../aws/warm-table.ts");
  const hour = { from: new Date(now), to: new Date(now + HOUR) };
  const [warmth, minutes] = await Promise.allSettled([warmthOf(table), allOf(api.forecast(hour))]);
  if (warmth.status === "rejected")
    return unknown("table", warmth.reason, "allow dynamodb:DescribeTable for this check");
  if (minutes.status === "rejected") return unknown("table", minutes.reason, "see the log of the API");
  return judgeWarmth(warmth.value, Math.max(0, ...minutes.value.map(({ count }) => count)));
}

async function* examineConcurrency(
  topics: readonly TopicReport[],
  region: string | undefined,
  stack: string | undefined,
): AsyncIterable<Check> {
  const { freeConcurrency, stackReservations } = await import("../../aws/account.ts");
  const [free, reserved] = await Promise.allSettled([
    freeConcurrency(region),
    stack === undefined ? undefined : stackReservations(stack),
  ]);
  if (reserved.status === "rejected")
    yield unknown("concurrency", reserved.reason, todoForTemplate(reserved.reason));
  if (free.status === "rejected")
    yield unknown("concurrency", free.reason, "allow lambda:GetAccountSettings for this check");
  else
    yield judgeConcurrency(free.value, topics, reserved.status === "fulfilled" ? reserved.value : undefined);
}

function unknown(check: string, reason: unknown, todo?: string): Check {
  return { ...failed(check, reason, todo), result: "warning" };
}

/** `undefined` if the template was read but is not JSON: then the error itself says what to do. */
function todoForTemplate(reason: unknown): string | undefined {
  if (reason instanceof MinutehandError && reason.code === "bad-answer") return undefined;
  return "allow cloudformation:GetTemplate for this check";
}

async function reach(session: Session) {
  const api = await session.client();
  return { api, ...(await api.health()) };
}

const SETTINGS = "table settings";
const TABLE_RIGHTS =
  "allow dynamodb:DescribeTable, DescribeTimeToLive, DescribeContinuousBackups and ListTagsOfResource for this check";
const WIDTH = 8;
const HOUR = 3_600_000;

async function countDead(api: Client, report: TopicReport): Promise<ExaminedTopic> {
  if (report.policy.tracking !== "full") return report;
  const dead = api.dead(report.topic, { pageSize: pageSizeFor(DEAD_COUNTED) });
  const jobs = allOf(firstOf(dead, DEAD_COUNTED, () => {}));
  const [deadJobs] = await Promise.allSettled([jobs.then(({ length }) => length)]);
  return { ...report, deadJobs };
}

/** How long a server may take to answer, ms. */
const PATIENCE = 5000;

/** ms, by the `Date` header of any answer, also of a refusal. NaN: the answer has no `Date`. `undefined`: no answer came. */
async function skewTo(url: string, clock: () => number): Promise<number | undefined> {
  const began = clock();
  try {
    const signal = AbortSignal.timeout(PATIENCE);
    const { headers, body } = await fetch(`${url}/health`, { method: "HEAD", redirect: "manual", signal });
    await body?.cancel();
    // The server wrote `Date` about in the middle of the call. It cut the time to whole seconds, so add half a second on average.
    return (began + clock()) / 2 - (Date.parse(headers.get("date") ?? "") + 500);
  } catch {
    return undefined;
  }
}
