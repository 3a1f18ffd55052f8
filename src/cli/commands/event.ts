import type { Command } from "commander";
import type { EventEntry, PutEventsAnswer } from "../../aws/put-event.ts";
import { regionOf } from "../../client/authorize.ts";
import { isLoopback } from "../../settings/loopback.ts";
import { readBody } from "../body.ts";
import { CliError, UsageError } from "../cli-error.ts";
import { examples } from "../examples.ts";
import { callLocalService } from "../own-stack.ts";
import type { Open, Session } from "../session.ts";

type Flags = { source: string; detailType: string; detail: string; bus: string };

const DEFAULT_BUS = "default";

const ABOUT = `
The event goes to the local stack that the command finds, or else to EventBridge in the account of your
AWS credentials and the region of the queue that --stack, --url or MINUTEHAND_URL names. There it needs
the permission events:PutEvents, and the npm package @aws-sdk/client-eventbridge.`;

export function addEvent(program: Command, open: Open): void {
  const group = program.command("event").description("put events on an event bus");
  const command = group
    .command("put")
    .description("put an event on the bus of the local stack, or on AWS")
    .requiredOption("--source <text>", "source of the event, such as shop")
    .requiredOption("--detail-type <text>", "detail type of the event, such as OrderPaid")
    .requiredOption("--detail <json>", "detail of the event: a JSON object, @file, or - for stdin")
    .option("--bus <name>", "name or ARN of the event bus", DEFAULT_BUS)
    .action((flags: Flags) => put(open(), flags));
  const paid = `minutehand event put --source shop --detail-type OrderPaid --detail '{"orderId": 17}'`;
  examples(group, [paid]);
  examples(command, [
    paid,
    "minutehand event put --stack Shop --source shop --detail-type OrderPaid --detail @paid.json",
  ]);
  command.addHelpText("after", ABOUT);
}

async function put(session: Session, { source, detailType, detail, bus }: Flags): Promise<void> {
  const { surroundings, output } = session;
  const value = await readBody(detail, surroundings, "--detail");
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new UsageError("--detail must be a JSON object, because the detail of an event is one");
  const entry: EventEntry = {
    ...{ Source: source, DetailType: detailType, Detail: JSON.stringify(value) },
    ...(bus !== DEFAULT_BUS && { EventBusName: bus }),
  };
  const { answer, place } = await send(session, entry);
  const [result] = answer.Entries ?? [];
  if (result?.EventId === undefined)
    throw new CliError(`${place} refused the event: ${result?.ErrorCode}: ${result?.ErrorMessage}`);
  const text = `put event ${result.EventId} on the bus ${bus} of ${place}`;
  await output.told({ eventId: result.EventId, bus }, text);
  if ("NoRule" in result) output.note("no rule of this stack takes it");
}

async function send(
  session: Session,
  entry: EventEntry,
): Promise<{ readonly answer: PutEventsAnswer; readonly place: string }> {
  const own = await session.ownStack();
  if (own !== undefined) {
    const answer = await callLocalService(own, "eventBridge", "AWSEvents.PutEvents", { Entries: [entry] });
    return { answer: answer as PutEventsAnswer, place: `the local stack of ${own.folder}` };
  }
  const { url, region, stack } = await session.target();
  if (stack === undefined && isLoopback(new URL(url).hostname))
    throw new UsageError(
      `only its own folder knows the bus of the local stack at ${url}: run the command in that folder or below it, or name a deployed queue with --stack`,
    );
  const { putEvent } = await import("../../aws/put-event.ts");
  return { answer: await putEvent(entry, regionOf(url) ?? region), place: "EventBridge" };
}
