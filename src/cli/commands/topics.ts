import type { Command } from "commander";
import type { TopicReport } from "../../client/answers.ts";
import { isHolding, type Pause } from "../../client/holding.ts";
import { isBehind, sweepText } from "../checks.ts";
import { counted, pausedBy } from "../columns.ts";
import { examples } from "../examples.ts";
import type { Open } from "../session.ts";
import type { Column } from "../table.ts";

const number = (count: number) => count.toLocaleString("en");

/** The API of an earlier version counts none. `+`: or more. */
function countText(counted: Pick<TopicReport["late"], "count" | "atLeast"> | undefined): string {
  if (counted === undefined) return "";
  return `${number(counted.count)}${counted.atLeast ? "+" : ""}`;
}

function pauseText(pause: Pause): string {
  const by = pausedBy(pause);
  if (isHolding(pause)) return `${pause.state}${by}, ${counted(pause.parked)} parked`;
  const { ratePerSecond: rate } = pause;
  return `resumed${by}${rate === undefined ? "" : ` at ${number(rate)} a second`}; no job is parked`;
}

const COLUMNS: Column<TopicReport>[] = [
  { head: "TOPIC", text: ({ topic }) => topic },
  { head: "CONSUMER", text: ({ policy }) => policy.consumer },
  { head: "TRACKING", text: ({ policy }) => policy.tracking },
  { head: "READY", align: "right", text: ({ depths }) => number(depths.ready) },
  { head: "DELAYED", align: "right", text: ({ depths }) => number(depths.delayed) },
  { head: "IN FLIGHT", align: "right", text: ({ depths }) => number(depths.inFlight) },
  {
    head: "DEAD",
    align: "right",
    text: ({ depths }) => number(depths.dead),
    style: ({ depths }) => (depths.dead > 0 ? "red" : undefined),
  },
  {
    head: "LATE",
    align: "right",
    text: ({ late }) => countText(late),
    style: ({ late }) => (late?.count === 0 ? undefined : "red"),
  },
  {
    head: "RETRYING",
    align: "right",
    text: ({ retrying }) => countText(retrying),
  },
  {
    head: "SWEEP",
    text: ({ sweepLag }) => sweepText(sweepLag),
    style: ({ sweepLag }) => (isBehind(sweepLag) ? "yellow" : undefined),
  },
  {
    head: "PAUSE",
    text: ({ pause }) => pause && pauseText(pause),
    style: ({ pause }) => (isHolding(pause) ? "yellow" : undefined),
  },
];

export function addTopics(program: Command, open: Open): void {
  const command = program
    .command("topics")
    .description(
      "show for each topic how many messages are ready, delayed, in flight and dead, how many jobs are late or wait for a retry, and how far the sweep is behind",
    )
    .argument("[topic]", "show only this topic")
    .option("--names", "print only the names")
    .action(async (topic: string | undefined, { names }: { names?: true }) => {
      const { output, client } = open();
      const api = await client();
      const reports = topic === undefined ? await api.topics() : [await api.topic(topic)];
      if (names) {
        for (const report of reports) await output.told(report.topic, report.topic);
      } else if (topic !== undefined && output.json) await output.document(reports[0]);
      else await output.entries(reports, COLUMNS, "no topic");
    });
  command.addHelpText(
    "after",
    `
READY, DELAYED, IN FLIGHT and DEAD count messages of SQS, about. DEAD counts the message of a job that was redriven until
the next tick removes it: "minutehand dead <topic>" lists the jobs that are dead now.`,
  );
  examples(command, ["minutehand topics", "minutehand topics order-timeout --json"]);
}
