import type { Command } from "commander";
import type { JobSummary } from "../../client/answers.ts";
import type { DeadQuery } from "../../client/options.ts";
import { wholeNumber } from "../arguments.ts";
import { JOB_COLUMNS } from "../columns.ts";
import { examples } from "../examples.ts";
import { addOptionFilters } from "../job-options.ts";
import { firstOf, pageSizeFor } from "../lists.ts";
import type { Open } from "../session.ts";
import type { Column } from "../table.ts";

const DEAD_COLUMNS: Column<JobSummary>[] = [
  { head: "DIED", text: ({ finishedAt }) => finishedAt },
  ...JOB_COLUMNS.filter(({ head }) => !["DUE", "STATE", "TOPIC"].includes(head)),
];

export function addDead(program: Command, open: Open): void {
  const command = program
    .command("dead")
    .description("list a topic's dead jobs with their last errors, the oldest death first")
    .argument("<topic>");
  addOptionFilters(command)
    .option("--limit <n>", "list at most this many jobs", wholeNumber(1), 100)
    .action(async (topic: string, { limit, ...query }: DeadQuery & { limit: number }) => {
      const { output, client } = open();
      const api = await client();
      const jobs = api.dead(topic, { ...query, pageSize: pageSizeFor(limit) });
      const more = () => output.note(`there are more than ${limit} dead jobs: see --limit`);
      const logs = new Map<string, string>();
      await output.entries(noted(firstOf(jobs, limit, more), logs), DEAD_COLUMNS, "no dead job");
      if (output.json || logs.size === 0) return;
      await output.line("");
      await output.fields(Object.fromEntries(logs));
    });
  examples(command, [
    "minutehand dead order-timeout",
    "minutehand dead order-timeout --tag spring-sale --limit 10000 --json",
  ]);
}

/** Passes jobs on, and notes where their logs are: an address is too long for a column of the table. */
async function* noted(jobs: AsyncIterable<JobSummary>, logs: Map<string, string>): AsyncIterable<JobSummary> {
  for await (const job of jobs) {
    if (job.logUrl !== undefined) logs.set(job.id, job.logUrl);
    yield job;
  }
}
