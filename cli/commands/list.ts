import { type Command, Option } from "commander";
import type { ListQuery } from "../../client/client.ts";
import { STATES } from "../../http/answers.ts";
import { instant, wholeNumber } from "../arguments.ts";
import { JOB_COLUMNS } from "../columns.ts";
import { examples } from "../examples.ts";
import { addOptionFilters } from "../job-options.ts";
import { firstOf, pageSizeFor } from "../lists.ts";
import { checkRange } from "../range.ts";
import type { Open } from "../session.ts";

type Flags = ListQuery & { limit: number; from?: string; to?: string };

export function addList(program: Command, open: Open): void {
  const command = program
    .command("list")
    .description("list jobs in the order of dueAt, by default those of the next hour")
    .option("--topic <topic>", "only jobs of this topic")
    .addOption(new Option("--state <state>", "only jobs in this state").choices(STATES));
  addOptionFilters(command)
    .option("--from <time>", "only jobs with this dueAt or later (default: now)", instant)
    .option(
      "--to <time>",
      "only jobs with a dueAt before this time (default: an hour after --from); at most 31 days after --from",
      instant,
    )
    .option("--limit <n>", "list at most this many jobs", wholeNumber(1), 100)
    .action(async ({ limit, ...query }: Flags) => {
      const { surroundings, output, client } = open();
      checkRange(query, surroundings.clock());
      const api = await client();
      const jobs = api.list({ ...query, pageSize: pageSizeFor(limit) });
      const more = () => output.note(`there are more than ${limit} jobs: see --limit, --from and --to`);
      await output.entries(firstOf(jobs, limit, more), JOB_COLUMNS, "no job");
    });
  examples(command, [
    "minutehand list --topic order-timeout --state scheduled",
    "minutehand list --from 2026-03-01T00:00:00Z --to 2026-03-02T00:00:00Z --limit 100000 --json",
  ]);
}
