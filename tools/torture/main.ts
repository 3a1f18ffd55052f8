import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { drain } from "./drain.ts";
import { planFaults, planTicks } from "./fault-plan.ts";
import { judge, type Verdict } from "./judge.ts";
import { followLedger, type LedgerEvent, record } from "./ledger.ts";
import { planLoad } from "./load.ts";
import { type Monkey, startMonkey } from "./monkey.ts";
import { HELP, parseCommandLine, type TortureOptions } from "./options.ts";
import { startProducers } from "./producers.ts";
import { startProxy } from "./proxy.ts";
import { startPullers } from "./pullers.ts";
import { type Random, seededRandom } from "./random.ts";
import { describeViolations, faultRows, rowsOf, table } from "./report.ts";
import { type SoakResult, soakRows, watchProcesses } from "./soak.ts";
import { type Proxies, startStack } from "./stack.ts";

const USAGE_ERROR = 2;
/** With so many producers, the requests that an outage has delayed are soon sent. */
const PRODUCERS = 64;
const PROGRESS_MS = 10_000;

type Result = {
  readonly verdict: Verdict;
  /** Jobs that were acknowledged during the faults. On a busy machine the others are filed afterwards. */
  readonly underFaults: number;
  readonly events: readonly LedgerEvent[];
  readonly soak: SoakResult | undefined;
};

const options = readOptions();
if (options.help) console.log(HELP);
else await run(options);

function readOptions(): TortureOptions {
  try {
    if (process.platform !== "linux") throw new Error("it reads /proc, so it runs on Linux only");
    return parseCommandLine(process.argv.slice(2), Date.now());
  } catch (error) {
    console.error(`torture: ${error instanceof Error ? error.message : error}`);
    process.exit(USAGE_ERROR);
  }
}

async function run(options: TortureOptions): Promise<void> {
  const { jobs, minutes, seed, families, soak } = options;
  const faults = soak ? "--soak" : `--faults ${[...families].join(",")}`;
  const repeat = `npm run torture -- --jobs ${jobs} --minutes ${minutes} --seed ${seed} ${faults}`;
  console.log(`torture: seed ${seed}; again: ${repeat}`);
  const began = Date.now();
  const folder = mkdtempSync(join(tmpdir(), "minutehand-torture-"));
  let broken = true;
  try {
    const { verdict, underFaults, events, soak: watched } = await torture(options, folder);
    broken = verdict.violations.length > 0 || (watched?.growing.length ?? 0) > 0;
    const seconds = Math.round((Date.now() - began) / 1000);
    const jobRows = rowsOf(verdict, underFaults);
    const hurtRows = faultRows(events);
    console.log(`\n${table("jobs", jobRows)}\n`);
    if (hurtRows.length > 0) console.log(`${table("faults", hurtRows)}\n`);
    if (watched) console.log(`${soakRows(watched)}\n`);
    if (verdict.violations.length > 0) console.log(`${describeViolations(verdict, events)}\n`);
    console.log(
      `torture: ${broken ? "FAILED" : "passed"} after ${seconds} s; seed ${seed}; again: ${repeat}`,
    );
    if (options.json) {
      const result = {
        command: repeat,
        seconds,
        broken,
        jobs: Object.fromEntries(jobRows),
        faults: Object.fromEntries(hurtRows),
        ...(watched ? { soak: watched } : {}),
      };
      writeFileSync(options.json, `${JSON.stringify(result, undefined, 2)}\n`);
    }
  } finally {
    if (broken) console.log(`torture: ledger and logs are kept in ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  }
  process.exit(broken ? 1 : 0);
}

async function torture(options: TortureOptions, folder: string): Promise<Result> {
  const { jobs, minutes, seed, families, soak } = options;
  const ms = minutes * 60_000;
  // Each part has random numbers of its own, which do not depend on how often other parts draw.
  const random = (of: number) => seededRandom(seed * 16 + of);
  const ledger = join(folder, "ledger.ndjson");
  const read = readerOf(ledger);
  const lost = Promise.withResolvers<never>();
  const proxies = await startProxies(random);
  const { url } = proxies.api;
  const stack = await startStack(folder, ledger, proxies, (how) => {
    record(ledger, { event: "unexpected", n: -1, what: `the stack ended ${how}`, at: Date.now() });
    lost.reject(new Error(`the stack ended ${how}`));
  });
  const pullers = startPullers(url, ledger);
  const monkey = startMonkey(
    { stack, pullers, proxies, ledger },
    planFaults(random(3), ms, families),
    planTicks(random(4), ms, families),
    lost.reject,
  );
  const watcher = soak ? watchProcesses(() => stack.pid(), pullers.pids) : undefined;
  const progress = printProgress(read);
  try {
    const load = planLoad({ jobs, ms, producers: PRODUCERS, random: random(5) });
    const finished = runLoad(options, load, { url, ledger, read, monkey });
    const judged = finished.then((result) => ({ ...result, soak: watcher?.stop() }));
    return await Promise.race([judged, lost.promise]);
  } finally {
    clearInterval(progress);
    monkey.stop();
    pullers.stop();
    await stack.stop();
    for (const proxy of Object.values(proxies)) await proxy.close();
  }
}

function readerOf(ledger: string): () => readonly LedgerEvent[] {
  const follow = followLedger(ledger);
  const events: LedgerEvent[] = [];
  return () => {
    for (const event of follow()) events.push(event);
    return events;
  };
}

async function startProxies(random: (of: number) => Random): Promise<Proxies> {
  return {
    api: await startProxy(random(0)),
    dynamodb: await startProxy(random(1)),
    sqs: await startProxy(random(2)),
  };
}

function printProgress(read: () => readonly LedgerEvent[]): NodeJS.Timeout {
  const began = Date.now();
  return setInterval(() => console.log(progressLine(judge(read(), false), Date.now() - began)), PROGRESS_MS);
}

type Scene = {
  readonly url: string;
  readonly ledger: string;
  readonly read: () => readonly LedgerEvent[];
  readonly monkey: Monkey;
};

async function runLoad(
  { minutes, drainMinutes }: TortureOptions,
  load: ReturnType<typeof planLoad>,
  { url, ledger, read, monkey }: Scene,
): Promise<Omit<Result, "soak">> {
  const ms = minutes * 60_000;
  const lastRequest = Math.max(...load.flat().map(({ at }) => at));
  const producers = startProducers(url, load, ledger);
  await sleep(ms);
  const underFaults = judge(read(), false).acknowledged;
  await monkey.calm();
  await Promise.race([producers.finished, sleep(Math.max(lastRequest - ms, 0) + drainMinutes * 60_000)]);
  await drain(url, ledger, read, drainMinutes * 60_000);
  const events = read();
  return { verdict: judge(events, true), underFaults, events };
}

function progressLine(verdict: Verdict, ms: number): string {
  const { asked, acknowledged, starts, completed, cancelled, waiting, violations, ranAgain } = verdict;
  const again = Object.values(ranAgain).reduce((sum, count) => sum + count, 0);
  return (
    `${String(Math.round(ms / 1000)).padStart(4)} s  asked ${asked}  acknowledged ${acknowledged}  started ${starts}  ` +
    `completed ${completed}  cancelled ${cancelled}  waiting ${waiting.length}  run again ${again}  ` +
    `violations ${violations.length}`
  );
}
