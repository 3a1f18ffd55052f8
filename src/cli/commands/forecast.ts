import { type Command, InvalidArgumentError, Option } from "commander";
import type { CountPart } from "../../client/answers.ts";
import type { Client } from "../../client/client.ts";
import type { ForecastQuery } from "../../client/options.ts";
import { DAY } from "../../core/constants.ts";
import { parseDuration } from "../../general/times.ts";
import { instant } from "../arguments.ts";
import { chartOf } from "../chart.ts";
import { UsageError } from "../cli-error.ts";
import { many } from "../columns.ts";
import { examples } from "../examples.ts";
import { allOf } from "../lists.ts";
import { checkRange } from "../range.ts";
import type { Open, Session } from "../session.ts";
import type { Column } from "../table.ts";

type Minute = { minute: string; count: number };
type Counted = Omit<CountPart["counts"][number], "from"> & { from?: string };
type Flags = ForecastQuery & { from?: string; to?: string; by?: "state"; step?: number };

const HOUR = 3_600_000;
const JOBS = {
  head: "JOBS",
  align: "right" as const,
  text: ({ count }: { count: number }) => count.toLocaleString("en"),
};
const COLUMNS: Column<Minute>[] = [{ head: "MINUTE", text: ({ minute }) => minute }, JOBS];
const STATE_COLUMNS: Column<Counted>[] = [
  { head: "TOPIC", text: ({ topic }) => topic },
  { head: "STATE", text: ({ state }) => state },
  JOBS,
];
const STEP_COLUMNS: Column<Counted>[] = [{ head: "FROM", text: ({ from }) => from }, ...STATE_COLUMNS];

export function addForecast(program: Command, open: Open): void {
  const command = program
    .command("forecast")
    .description("count the unfinished jobs that fall due in each minute, by default of the next hour")
    .option("--topic <topic>", "only jobs of this topic")
    .option("--from <time>", "begin of the range (default: now)", instant)
    .option(
      "--to <time>",
      "end of the range (default: an hour after --from); at most 31 days after --from",
      instant,
    )
    .addOption(
      new Option("--by <what>", "count all jobs by topic and state, the finished ones too").choices([
        "state",
      ]),
    )
    .option("--step <duration>", "with --by state: also by steps of this length, from 1s to 1d", stepSeconds)
    .action((flags: Flags) => count(open(), flags));
  examples(command, [
    "minutehand forecast --topic order-timeout",
    "minutehand forecast --from 2026-03-01T00:00:00Z --to 2026-03-02T00:00:00Z --json",
    "minutehand forecast --by state --step 10m",
  ]);
}

async function count(
  { output, client, clock }: Session,
  { topic, from, to, by, step }: Flags,
): Promise<void> {
  const now = (await clock())();
  checkRange({ from, to }, now);
  if (step !== undefined && by === undefined) throw new UsageError("--step needs --by state");
  const first = from === undefined ? now : Date.parse(from);
  const end = to === undefined ? first + HOUR : Date.parse(to);
  const query = { ...(topic === undefined ? {} : { topic }), from: new Date(first), to: new Date(end) };
  const api = await client();
  const isForPerson = !output.json && output.isTerminal;
  const noteSum = (counts: readonly { count: number }[]): void => {
    const total = counts.reduce((sum, { count }) => sum + count, 0);
    output.note(`${many(total)} from ${query.from.toISOString()} to ${query.to.toISOString()}`);
  };
  if (by === "state") {
    const counts = await countByState(api, query, step);
    await output.entries(counts, step === undefined ? STATE_COLUMNS : STEP_COLUMNS, "no job");
    if (isForPerson && counts.length > 0) noteSum(counts);
    return;
  }
  const minutes = api.forecast(query);
  if (!isForPerson) {
    await output.entries(minutes, COLUMNS, "no job falls due");
    return;
  }
  const counts = await allOf(minutes);
  for (const line of chartOf(counts, first, end, output.width)) await output.line(line);
  noteSum(counts);
}

function stepSeconds(text: string): number {
  const seconds = (parseDuration(/^\d+$/.test(text) ? Number(text) : text) ?? 0) / 1000;
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= DAY / 1000) return seconds;
  throw new InvalidArgumentError(`It must be whole seconds, from 1 to ${DAY / 1000}.`);
}

/** Adds up the counts of all parts, in the order of time, topic and state. Without `step`, all steps of a topic and state are one count. */
async function countByState(api: Client, query: ForecastQuery, step: number | undefined): Promise<Counted[]> {
  const sums = new Map<string, Counted>();
  for await (const { counts } of api.counts({ ...query, step: step ?? DAY / 1000 })) {
    for (const { from, ...cell } of counts) {
      const one: Counted = step === undefined ? cell : { from, ...cell };
      const name = `${one.from ?? ""} ${cell.topic} ${cell.state}`;
      sums.set(name, { ...one, count: cell.count + (sums.get(name)?.count ?? 0) });
    }
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, counted]) => counted);
}
