import { type Command, Option } from "commander";
import type { Client } from "../../client/client.ts";
import { lateIn } from "../../client/late-in.ts";
import type { ListQuery } from "../../client/options.ts";
import { STATES } from "../../http/answers/jobs.ts";
import { instant, wholeNumber } from "../arguments.ts";
import { JOB_COLUMNS, many } from "../columns.ts";
import { examples } from "../examples.ts";
import { addOptionFilters } from "../job-options.ts";
import { firstOf, pageSizeFor } from "../lists.ts";
import { checkRange } from "../range.ts";
import type { Open } from "../session.ts";

type Query = ListQuery & { from?: string; to?: string };
type Flags = Query & { limit: number };

/** ms. */
const HOUR = 3_600_000;

export function addList(program: Command, open: Open): void {
  const command = program
    .command("list")
    .description("list jobs in the order of dueAt, by default those of the next hour")
    .option("--topic <topic>", "only jobs of this topic")
    .addOption(new Option("--state <state>", "only jobs in this state").choices(STATES));
  addOptionFilters(command)
    .option(
      "--from <time>",
      "only jobs with this dueAt or later (default: now; with a --state other than scheduled: an hour ago)",
      instant,
    )
    .option(
      "--to <time>",
      "only jobs with a dueAt before this time (default: an hour after --from, or after now); at most 31 days after --from",
      instant,
    )
    .option("--limit <n>", "list at most this many jobs", wholeNumber(1), 100)
    .action(async ({ limit, ...query }: Flags) => {
      const { output, client, clock } = open();
      const now = (await clock())();
      const asked = query.from === undefined && isPast(query) ? { ...query, ...rangeOf(query, now) } : query;
      checkRange(asked, now);
      const api = await client();
      const jobs = api.list({ ...asked, pageSize: pageSizeFor(limit) });
      const more = () => output.note(`there are more than ${limit} jobs: see --limit, --from and --to`);
      const range = rangeText(rangeOf(query, now));
      const none = `found no job that is due ${range}`;
      const isFound = await output.entries(firstOf(jobs, limit, more), JOB_COLUMNS, none);
      if (output.json || (query.from !== undefined && query.to !== undefined)) return;
      if (isFound) output.note(`these are the jobs that are due ${range}`);
      if (query.from !== undefined || query.to !== undefined) return;
      const late = await describeLate(api, query);
      if (late !== undefined) output.note(late);
    });
  examples(command, [
    "minutehand list --topic order-timeout --state scheduled",
    "minutehand list --from 2026-03-01T00:00:00Z --to 2026-03-02T00:00:00Z --limit 100000 --json",
  ]);
}

/** A job that runs or has ended has mostly been due. Only a cancelled job often has a `dueAt` to come. */
function isPast({ state }: Query): boolean {
  return state !== undefined && state !== "scheduled";
}

/** The range of the list, with its defaults. `now`: ms since the epoch. */
function rangeOf(query: Query, now: number): { from: string; to: string } {
  const { from = iso(isPast(query) ? now - HOUR : now), to } = query;
  return { from, to: to ?? iso((query.from === undefined ? now : Date.parse(from)) + HOUR) };
}

function rangeText({ from, to }: { from: string; to: string }): string {
  return `from ${from} to ${to}: see --from and --to`;
}

/** Says how many jobs of the listed topics are late. `undefined`: none, or the list is of a state, a tag or a group, by which the API counts none. */
async function describeLate(
  api: Client,
  { state, topic, tag, group }: ListQuery,
): Promise<string | undefined> {
  if ((state !== undefined && state !== "scheduled") || tag !== undefined || group !== undefined)
    return undefined;
  const late = (topic === undefined ? await api.topics() : [await api.topic(topic)]).flatMap(lateIn);
  const [first] = late.flatMap(({ since }) => since ?? []).sort();
  if (first === undefined) return undefined;
  const count = late.reduce((sum, one) => sum + one.count, 0);
  const counted = late.some(({ atLeast }) => atLeast) ? `at least ${many(count)}` : many(count);
  return `late: ${counted} should have started and ${count === 1 ? "has" : "have"} not: see --from ${first}`;
}

function iso(time: number): string {
  return new Date(time).toISOString();
}
