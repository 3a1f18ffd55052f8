import type { Command } from "commander";
import { printable } from "../../../local/printable.ts";
import type { EventEntry, PutEventsAnswer } from "../../aws/put-event.ts";
import { regionOf } from "../../client/authorize.ts";
import type { RuleEffect } from "../../core/rule-effects.ts";
import { isLoopback } from "../../settings/loopback.ts";
import { readBody } from "../body.ts";
import { CliError, UsageError } from "../cli-error.ts";
import { examples } from "../examples.ts";
import { callLocalService } from "../own-stack.ts";
import type { Open, Session } from "../session.ts";

type Flags = { source: string; detailType: string; detail: string; bus: string };

const DEFAULT_BUS = "default";
const AWS = "EventBridge";
const UNKNOWN_EFFECT = `EventBridge does not say which rules match. If the event has no effect, see the alarms EventsLost and EventsUndelivered,
and the queue <prefix>_events_dlq, which has the events that no topic could use`;

const ABOUT = `
The event goes to the local stack that the command finds. Then the command says what each rule that matches
did, and exits with 1 if a rule could not use the event. Without a local stack the event goes to EventBridge in the account of your
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
  const { EventId: eventId, NoRule: isUnmatched, Applied: rules, Queues: queues = [] } = result as Told;
  const text = `put event ${eventId} on the bus ${bus} of ${place}`;
  const effects = [...(rules ?? []).map(effectOf), ...queues.map((queue) => `sent to the queue ${queue}`)];
  await output.told({ eventId, bus, ...(rules && { rules, queues }) }, text);
  if (!output.json) for (const effect of effects) await output.line(printable(effect));
  if (isUnmatched) output.note("no rule of this stack takes it");
  if (place === AWS) output.note(UNKNOWN_EFFECT);
  if (rules === null)
    throw new CliError("the rules have not said what they did: see the log of the local stack");
  const failed = (rules ?? []).filter(({ did }) => did === "failed").length;
  if (failed > 0)
    throw new CliError(
      `${failed} of ${rules?.length} rules could not use the event: SQS delivers it again for an hour`,
    );
}

/** What a local stack also answers. `Applied` is `null` if the topics' functions did not say in time what they did. */
type Told = {
  readonly EventId: string;
  readonly NoRule?: true;
  readonly Applied?: readonly RuleEffect[] | null;
  readonly Queues?: readonly string[];
};

function effectOf(effect: RuleEffect): string {
  return `${effect.topic} ${effect.rule}: ${wordsOf(effect)}`;
}

function wordsOf(effect: RuleEffect): string {
  switch (effect.did) {
    case "created":
      return `filed job ${effect.id}`;
    case "replayed":
      return "changed nothing: the event had filed its job before";
    case "cancelling":
      return `job ${effect.id} runs, and does not run again after this run`;
    case "no-job":
      return effect.until === undefined
        ? "found no job with the key"
        : `found no job with the key; one that is filed before ${new Date(effect.until).toISOString()} is cancelled`;
    case "nothing":
      return "changed nothing: this event or a later one had its effect before";
    case "waits":
      return "waits, because the job with the key runs";
    case "failed":
      return `could not use the event: ${effect.error}`;
    default:
      return `${effect.did} job ${effect.id}`;
  }
}

async function send(
  session: Session,
  entry: EventEntry,
): Promise<{ readonly answer: PutEventsAnswer; readonly place: string }> {
  const own = await session.ownStack();
  if (own !== undefined) {
    const answer = await callLocalService(own, "eventBridge", "AWSEvents.PutEvents", {
      Entries: [entry],
      Wait: true,
    });
    return { answer: answer as PutEventsAnswer, place: `the local stack of ${own.folder}` };
  }
  const { url, region, stack } = await session.target();
  if (stack === undefined && isLoopback(new URL(url).hostname))
    throw new UsageError(
      `only its own folder knows the bus of the local stack at ${url}: run the command in that folder or below it, or name a deployed queue with --stack`,
    );
  const { putEvent } = await import("../../aws/put-event.ts");
  return { answer: await putEvent(entry, regionOf(url) ?? region), place: AWS };
}
