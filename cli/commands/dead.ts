import type { Command } from "commander";
import type { JobSummary } from "../../sdk/client.ts";
import { duration, rate, wholeNumber } from "../arguments.ts";
import { UsageError } from "../cli-error.ts";
import { examples } from "../examples.ts";
import { firstOf } from "../lists.ts";
import { changeMany } from "../many.ts";
import { addFilters, type Caution, type Filters, filtersOf } from "../selection.ts";
import type { Open } from "../session.ts";
import type { Column } from "../table.ts";
import { JOB_COLUMNS, many } from "../words.ts";

const DEAD_COLUMNS: Column<JobSummary>[] = [
  { head: "DIED", text: ({ finishedAt }) => finishedAt },
  ...JOB_COLUMNS.filter(({ head }) => !["DUE", "STATE", "TOPIC"].includes(head)),
];

export function addDead(program: Command, open: Open): void {
  const command = program
    .command("dead")
    .description("list a topic's dead jobs with their last errors, oldest first")
    .argument("<topic>")
    .option("--limit <n>", "no more than so many", wholeNumber(1), 100)
    .action(async (topic: string, { limit }: { limit: number }) => {
      const { output, client } = open();
      const api = await client();
      const more = () => output.note(`there are more than ${limit}: see --limit`);
      await output.entries(firstOf(api.dead(topic), limit, more), DEAD_COLUMNS, "no dead job");
    });
  examples(command, ["minutehand dead order-timeout", "minutehand dead order-timeout --limit 10000 --json"]);
  addRedrive(program, open);
}

const DIED = {
  from: "only those that died then or later, else in the last 366 days",
  to: "only those that died before",
};

type Redrive = Filters & Caution & { max?: number; delay?: number | string; rate?: number };

function addRedrive(program: Command, open: Open): void {
  const command = program
    .command("redrive")
    .description("run dead jobs again: of these ids, the oldest --max (100), or all that the filters match")
    .argument("<topic>")
    .argument("[ids...]")
    .option("--max <n>", "the oldest so many", wholeNumber(1, 500))
    .option("--delay <duration>", "not at once; for ids and --max", duration)
    .option("--rate <n>", "at most so many a second", rate);
  addFilters(command, DIED).action(
    async (topic: string, ids: string[], { max, delay, rate, ...rest }: Redrive) => {
      const session = open();
      const isNamed = ids.length > 0 || max !== undefined;
      const isFiltered = Object.keys(rest).length > 0;
      if ((ids.length > 0 && max !== undefined) || (isNamed && isFiltered)) {
        throw new UsageError("which dead jobs: give ids, --max, or filters, and no two of them");
      }
      const spread = rate === undefined ? {} : { ratePerSecond: rate };
      if (isFiltered) {
        if (delay !== undefined) throw new UsageError("--delay is for ids and --max");
        return changeMany(session, { action: "redrive", topic, ...filtersOf(rest), ...spread }, rest);
      }
      const api = await session.client();
      const which = { ...(ids.length > 0 ? { ids } : {}), ...(max === undefined ? {} : { max }) };
      const done = await api.redrive(topic, {
        ...which,
        ...(delay === undefined ? {} : { delay }),
        ...spread,
      });
      const { output } = session;
      if (output.json) return output.document(done);
      return output.line(
        `redriven ${many(done.redriven)} of ${topic}; ${done.left.toLocaleString("en")} left`,
      );
    },
  );
  examples(command, [
    "minutehand redrive order-timeout --max 500 --rate 10",
    "minutehand redrive order-timeout 01KJMF8S00G00000000000000A",
    "minutehand redrive order-timeout --tag spring-sale --from 2026-03-01T00:00:00Z --dry-run",
  ]);
}
