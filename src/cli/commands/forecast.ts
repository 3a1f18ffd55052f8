import type { Command } from "commander";
import type { ForecastQuery } from "../../client/options.ts";
import { instant } from "../arguments.ts";
import { chartOf } from "../chart.ts";
import { many } from "../columns.ts";
import { examples } from "../examples.ts";
import { allOf } from "../lists.ts";
import { checkRange } from "../range.ts";
import type { Open } from "../session.ts";
import type { Column } from "../table.ts";

type Minute = { minute: string; count: number };

const HOUR = 3_600_000;
const COLUMNS: Column<Minute>[] = [
  { head: "MINUTE", text: ({ minute }) => minute },
  { head: "JOBS", align: "right", text: ({ count }) => count.toLocaleString("en") },
];

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
    .action(async ({ topic, from, to }: ForecastQuery & { from?: string; to?: string }) => {
      const { surroundings, output, client } = open();
      checkRange({ from, to }, surroundings.clock());
      const first = from === undefined ? surroundings.clock() : Date.parse(from);
      const end = to === undefined ? first + HOUR : Date.parse(to);
      const api = await client();
      const minutes = api.forecast({
        ...(topic === undefined ? {} : { topic }),
        from: new Date(first),
        to: new Date(end),
      });
      if (output.json || !output.isTerminal) return output.entries(minutes, COLUMNS, "no job falls due");
      const counts = await allOf(minutes);
      const total = counts.reduce((sum, { count }) => sum + count, 0);
      for (const line of chartOf(counts, first, end, output.width)) await output.line(line);
      return output.note(
        `${many(total)} from ${new Date(first).toISOString()} to ${new Date(end).toISOString()}`,
      );
    });
  examples(command, [
    "minutehand forecast --topic order-timeout",
    "minutehand forecast --from 2026-03-01T00:00:00Z --to 2026-03-02T00:00:00Z --json",
  ]);
}
