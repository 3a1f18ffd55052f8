import type { Command } from "commander";
import { printable } from "../../../local/printable.ts";
import type { JobSummary } from "../../client/answers.ts";
import { parseDuration } from "../../general/times.ts";
import { durationArgument, durationFrom } from "../arguments.ts";
import { brief, styleOf } from "../columns.ts";
import { examples } from "../examples.ts";
import { follow, LEAST_WAIT, LONGEST_WAIT } from "../follow.ts";
import type { Output } from "../output.ts";
import type { Open, Session } from "../session.ts";

type Flags = { topic?: string; around: number | string; every: number | string };

export function addTail(program: Command, open: Open): void {
  const command = program
    .command("tail")
    .description(
      "follow the jobs that are due around now: print a line when a job starts, fails, is moved or ends",
    )
    .option("--topic <topic>", "only jobs of this topic")
    .option(
      "--around <duration>",
      "follow jobs that are due at most this long before or after now",
      durationArgument,
      "2m",
    )
    .option(
      "--every <duration>",
      "how long to wait before the jobs are read again, from half a second to a day",
      durationFrom(LEAST_WAIT, LONGEST_WAIT),
      "2s",
    )
    .action((flags: Flags) => tail(open(), flags));
  examples(command, [
    "minutehand tail",
    "minutehand tail --topic order-timeout --around 10m --json | jq -r .lastError",
  ]);
}

async function tail(
  { surroundings, output, client, ...session }: Session,
  { topic, around, every }: Flags,
): Promise<void> {
  const { wait, endUnread } = surroundings;
  endUnread();
  const clock = await session.clock();
  const api = await client();
  const changes = follow(api, {
    ...(topic === undefined ? {} : { topic }),
    around: parseDuration(around) ?? 0,
    every: parseDuration(every) ?? 0,
    clock,
    wait,
    onTrouble: ({ message }) => output.note(`minutehand: ${message}`),
  });
  for await (const job of changes) {
    await output.toldPainted(job, lineOf(job, clock(), output));
  }
}

const STATE_CHARS = "handed-off".length;

function lineOf(job: JobSummary, now: number, { paint }: Output): string {
  const { id, topic, key, state, dueAt, attempt, maxAttempts, lastError } = job;
  const since =
    job.finishedAt ?? (state === "running" ? job.claimedAt : undefined) ?? new Date(now).toISOString();
  const name = key === undefined ? id : `${id} (${key})`;
  const parts = [
    state === "scheduled" ? `due ${dueAt}` : `attempt ${attempt}/${maxAttempts}`,
    ...(lastError === undefined ? [] : [brief(lastError)]),
  ];
  const painted = paint(styleOf(state), printable(state).padEnd(STATE_CHARS));
  return `${printable(since)}  ${painted}  ${[topic, name, ...parts].map(printable).join("  ")}`;
}
