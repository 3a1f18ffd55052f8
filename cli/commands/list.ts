import { type Command, Option } from "commander";
import type { ListQuery } from "../../client/client.ts";
import { STATES } from "../../http/answers.ts";
import { instant, wholeNumber } from "../arguments.ts";
import { JOB_COLUMNS } from "../columns.ts";
import { examples } from "../examples.ts";
import { firstOf, pageSizeFor } from "../lists.ts";
import { checkRange } from "../range.ts";
import type { Open } from "../session.ts";

type Flags = ListQuery & { limit: number; from?: string; to?: string };

export function addList(program: Command, open: Open): void {
  const command = program
    .command("list")
    .description("list jobs in due order, the next hour's unless told otherwise")
    .option("--topic <topic>", "only of this one")
    .addOption(new Option("--state <state>", "only those in it").choices(STATES))
    .option("--tag <tag>", "only those of this tag")
    .option("--group <group>", "only those of this group")
    .option("--from <time>", "only those due then or later, else from now", instant)
    .option("--to <time>", "only those due before, else an hour later; at most 31 days", instant)
    .option("--limit <n>", "no more than so many", wholeNumber(1), 100)
    .action(async ({ limit, ...query }: Flags) => {
      const { surroundings, output, client } = open();
      checkRange(query, surroundings.clock());
      const api = await client();
      const jobs = api.list({ ...query, pageSize: pageSizeFor(limit) });
      const more = () => output.note(`there are more than ${limit}: see --limit, --from and --to`);
      await output.entries(firstOf(jobs, limit, more), JOB_COLUMNS, "no job");
    });
  examples(command, [
    "minutehand list --topic order-timeout --state scheduled",
    "minutehand list --from 2026-03-01T00:00:00Z --to 2026-03-02T00:00:00Z --limit 100000 --json",
  ]);
}
