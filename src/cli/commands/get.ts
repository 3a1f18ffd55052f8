import { Argument, type Command } from "commander";
import { lengthText } from "../../../local/clock-words.ts";
import { actorText } from "../../client/actor-text.ts";
import type { Job } from "../../client/answers.ts";
import type { Client } from "../../client/client.ts";
import { whyNotRun } from "../../client/why-not-run.ts";
import { MinutehandError } from "../../core/errors.ts";
import { jobId } from "../arguments.ts";
import { UsageError } from "../cli-error.ts";
import { styleOf } from "../columns.ts";
import { examples } from "../examples.ts";
import type { Output } from "../output.ts";
import type { Open } from "../session.ts";
import type { Column } from "../table.ts";

const HAPPENINGS: Column<Job["timeline"][number]>[] = [
  { head: "AT", text: ({ at }) => at },
  { head: "EVENT", text: ({ event }) => event },
  { head: "ATTEMPT", align: "right", text: ({ attempt }) => attempt },
  { head: "DUE", text: ({ dueAt }) => dueAt },
  { head: "HELD UNTIL", text: ({ heldUntil }) => heldUntil },
  {
    head: "LATE",
    align: "right",
    text: ({ lateness }) => (lateness === undefined ? undefined : lengthText(lateness * 1000)),
  },
  { head: "BY", text: ({ by }) => by && actorText(by) },
  { head: "ERROR", text: ({ error }) => error },
];

type Names = { topic?: string; key?: string };

export function addGet(program: Command, open: Open): void {
  const command = program
    .command("get")
    .description("show a job with its body and its timeline")
    .addArgument(new Argument("[id]").argParser(jobId))
    .option("--topic <topic>", "the topic of --key")
    .option("--key <key>", "the job with this key, also if it has ended")
    .action(async (id: string | undefined, { topic, key }: Names) => {
      const { output, client, clock } = open();
      const byKey = topic !== undefined && key !== undefined ? { topic, key } : undefined;
      if (
        (id === undefined) === (byKey === undefined) ||
        (id !== undefined && (topic ?? key) !== undefined)
      ) {
        throw new UsageError("name one job: give an id, or --topic and --key");
      }
      const api = await client();
      const job = await api.get(byKey ?? id ?? "");
      if (output.json) return output.document(job);
      output.note(await whyText(api, job, (await clock())()));
      await show(output, job);
    });
  examples(command, [
    "minutehand get 01KJMF8S00G00000000000000A",
    "minutehand get --topic order-timeout --key order-17 --json",
  ]);
}

/** Only a waiting job depends on its topic. The caller may have no right to read the topic: then the text says less. */
async function whyText(api: Client, job: Job, now: number): Promise<string> {
  const isWaiting = job.state === "scheduled";
  const topic = isWaiting ? await api.topic(job.topic).catch(undeclared) : undefined;
  const parts = whyNotRun(job, topic, now);
  return parts.map((part) => (typeof part === "string" ? part : part.toISOString())).join("");
}

function undeclared(error: unknown): "undeclared" | undefined {
  return error instanceof MinutehandError && error.code === "unknown-topic" ? "undeclared" : undefined;
}

async function show(output: Output, { body, timeline, earlierEventsDropped, ...fields }: Job): Promise<void> {
  await output.fields(fields, (name) => (name === "state" ? styleOf(fields.state) : undefined));
  await output.value(body);
  // The first event is the filing.
  await output.line(
    earlierEventsDropped
      ? `\nthe events between the filing of the job and ${timeline[1]?.at ?? "now"} are not stored any more`
      : "",
  );
  await output.entries(timeline, HAPPENINGS, "the timeline is empty");
}
