import { randomUUID } from "node:crypto";
import * as z from "zod/mini";
import { errorText } from "../local-error.ts";
import { busName, type EventRuleSpec } from "../template/event-rule.ts";
import type { AppliedEvents } from "./applied-events.ts";
import type { Operations } from "./aws-endpoint.ts";
import { AwsError } from "./aws-error.ts";
import type { AwsLocation } from "./scheduler.ts";

type Dependencies = {
  readonly rules: readonly EventRuleSpec[];
  /** The names of the buses, without the default bus. */
  readonly buses: readonly string[];
  /** Sends an event to a queue. Rejects if the queue did not take the event. */
  readonly send: (queueArn: string, body: string) => Promise<unknown>;
  readonly log: (line: string) => void;
  /** The queues whose functions log what they did with each event. */
  readonly applyingQueues: ReadonlySet<string>;
};

export type EventBridgeService = {
  readonly operations: Operations;
  /** Sets the rules and begins to deliver. Until then an event reaches no queue. */
  readonly start: (dependencies: Dependencies) => void;
};

type Options = AwsLocation & { readonly now: () => number; readonly applied?: AppliedEvents };

/** https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html; times are s since the epoch. */
const putRequest = z.object({
  Entries: z
    .array(
      z.object({
        Source: z.optional(z.string()),
        DetailType: z.optional(z.string()),
        Detail: z.optional(z.string()),
        Time: z.optional(z.number()),
        Resources: z._default(z.array(z.string()), []),
        EventBusName: z.optional(z.string().check(z.minLength(1), z.maxLength(1600))),
      }),
    )
    .check(z.minLength(1), z.maxLength(10)),
  /** Is not of EventBridge: whether to answer what the rules did with the events. */
  Wait: z.optional(z.boolean()),
});

type Entry = z.infer<typeof putRequest>["Entries"][number];
/**
 * EventBridge does not say the following, and its SDK ignores such fields. `NoRule`: no rule takes the event. `Applied`: with `Wait`, what the
 * topics' rules did, or `null` if their functions have not said it in time. `Queues`: the other queues that have the event.
 */
type Result =
  | { EventId: string; NoRule?: true; Applied?: readonly unknown[] | null; Queues?: readonly string[] }
  | { ErrorCode: string; ErrorMessage: string };

/** "Calculating PutEvents event entry size", EventBridge User Guide: a whole request, and an entry's time. */
const MAX_BYTES = 1024 * 1024;
const TIME_BYTES = 14;
const MAX_DETAIL_TYPE = 128;
const DEFAULT_BUS = "default";

/** PutEvents answers after the queues have the event. If one does not take it, its entry fails with `InternalFailure`, to be retried. */
export function createEventBridgeService(options: Options): EventBridgeService {
  let dependencies: Dependencies | undefined;
  return {
    operations: {
      "AWSEvents.PutEvents": {
        answer: async ({ body }) => {
          const { Entries: entries, Wait = false } = readRequest(body);
          const Entries: Result[] = [];
          for (const entry of entries) Entries.push(await put(entry, options, dependencies, Wait));
          return { FailedEntryCount: Entries.filter((result) => "ErrorCode" in result).length, Entries };
        },
      },
    },
    start: (given) => {
      dependencies = given;
    },
  };
}

async function put(
  entry: Entry,
  options: Options,
  dependencies: Dependencies | undefined,
  waits: boolean,
): Promise<Result> {
  const refusal = refusalOf(entry);
  if (refusal) return refusal;
  const event = eventOf(entry, options);
  try {
    const applied = waits ? options.applied?.expect(event.id) : undefined;
    const arns = dependencies && (await deliver(busName(entry.EventBusName), event, dependencies));
    if (arns?.length === 0) return { EventId: event.id, NoRule: true };
    if (!dependencies || !applied || !arns) return { EventId: event.id };
    const applying = new Set(arns.filter((arn) => dependencies.applyingQueues.has(arn)));
    const Queues = arns.filter((arn) => !applying.has(arn)).map((arn) => arn.slice(arn.lastIndexOf(":") + 1));
    return { EventId: event.id, Applied: (await applied(applying.size)) ?? null, Queues };
  } catch (error) {
    return failure("InternalFailure", errorText(error));
  }
}

function eventOf(entry: Entry, { region, account, now }: Options) {
  return {
    version: "0",
    id: randomUUID(),
    "detail-type": entry.DetailType ?? "",
    source: entry.Source ?? "",
    account,
    // EventBridge's times have whole seconds.
    time: `${new Date(entry.Time === undefined ? now() : entry.Time * 1000).toISOString().slice(0, 19)}Z`,
    region,
    resources: entry.Resources,
    detail: JSON.parse(entry.Detail ?? ""),
  };
}

/** Answers the queues of the rules that take the event. */
async function deliver(
  bus: string,
  event: ReturnType<typeof eventOf>,
  { rules, buses, send, log }: Dependencies,
): Promise<string[]> {
  const listening = rules.filter((rule) => rule.bus === bus);
  // On AWS too, an event for an unknown bus succeeds. The log tells the developer about a possible typing error.
  if (bus !== DEFAULT_BUS && !buses.includes(bus) && listening.length === 0)
    log(`an event was put on the bus ${bus}, which the template does not have`);
  const matching = listening.filter(
    ({ sources = [event.source], detailTypes = [event["detail-type"]] }) =>
      sources.includes(event.source) && detailTypes.includes(event["detail-type"]),
  );
  const body = JSON.stringify(event);
  const arns = matching.flatMap(({ queueArns }) => queueArns);
  await Promise.all(arns.map((arn) => send(arn, body)));
  return arns;
}

function readRequest(body: unknown): z.infer<typeof putRequest> {
  const { success, data, error } = z.safeParse(putRequest, body);
  if (!success) {
    const [issue] = error.issues;
    throw invalid(`1 validation error detected: ${issue?.path.join(".")}: ${issue?.message}`);
  }
  const bytes = data.Entries.reduce((sum, entry) => sum + sizeOf(entry), 0);
  if (bytes > MAX_BYTES) throw invalid("Total size of the entries in the request is over the limit.");
  return data;
}

function invalid(message: string): AwsError {
  return new AwsError("ValidationException", 400, message);
}

function sizeOf({ Source = "", DetailType = "", Detail = "", Time, Resources }: Entry): number {
  const texts = [Source, DetailType, Detail, ...Resources];
  const time = Time === undefined ? 0 : TIME_BYTES;
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), time);
}

/** Says why EventBridge refuses an entry; `undefined` for a valid entry. The other entries of the request are not affected. */
function refusalOf({ Source, DetailType, Detail }: Entry): Result | undefined {
  for (const [name, value] of Object.entries({ Source, DetailType, Detail }))
    if (!value)
      return failure(
        "InvalidArgument",
        `Parameter ${name} is not valid. Reason: ${name} is a required argument.`,
      );
  if ((DetailType?.length ?? 0) > MAX_DETAIL_TYPE)
    return failure(
      "InvalidArgument",
      `Parameter DetailType is not valid. Reason: over ${MAX_DETAIL_TYPE} characters.`,
    );
  if (Source?.startsWith("aws."))
    return failure("NotAuthorizedForSourceException", "Not authorized for the source.");
  return isJsonObject(Detail ?? "") ? undefined : failure("MalformedDetail", "Detail is malformed.");
}

function failure(ErrorCode: string, ErrorMessage: string): Result {
  return { ErrorCode, ErrorMessage };
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
