import { randomUUID } from "node:crypto";
import * as z from "zod/mini";
import { busName, type EventRuleSpec } from "../event-rule.ts";
import { errorText } from "../local-error.ts";
import type { Operations } from "./aws-endpoint.ts";
import { AwsError } from "./aws-error.ts";
import type { Place } from "./scheduler.ts";

type Surroundings = {
  readonly rules: readonly EventRuleSpec[];
  /** The names of the buses that there are beside the default one. */
  readonly buses: readonly string[];
  /** Rejects when the queue did not take it. */
  readonly send: (queueArn: string, body: string) => Promise<unknown>;
  readonly log: (line: string) => void;
};

export type EventBridgeService = {
  readonly operations: Operations;
  /** Begins to deliver. Until then there are no rules. */
  readonly start: (surroundings: Surroundings) => void;
};

type Options = Place & { readonly now: () => number };

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
});

type Entry = z.infer<typeof putRequest>["Entries"][number];
type Result = { EventId: string } | { ErrorCode: string; ErrorMessage: string };

/** "Calculating PutEvents event entry size", Amazon EventBridge User Guide. */
const MAX_BYTES = 1024 * 1024;
const TIME_BYTES = 14;
const MAX_DETAIL_TYPE = 128;
const DEFAULT_BUS = "default";

/**
 * EventBridge's buses, as far as events are put and rules bring them to queues. An event is in the queues when its
 * sender is answered; one that a queue did not take is refused, with an error that its sender may try again after.
 */
export function createEventBridgeService({ region, account, now }: Options): EventBridgeService {
  let surroundings: Surroundings | undefined;

  async function put(entry: Entry): Promise<Result> {
    const refusal = refusalOf(entry);
    if (refusal) return refusal;
    const id = randomUUID();
    const event = {
      version: "0",
      id,
      "detail-type": entry.DetailType ?? "",
      source: entry.Source ?? "",
      account,
      // To the second, as EventBridge has it.
      time: `${new Date(entry.Time === undefined ? now() : entry.Time * 1000).toISOString().slice(0, 19)}Z`,
      region,
      resources: entry.Resources,
      detail: JSON.parse(entry.Detail ?? ""),
    };
    try {
      await deliver(busName(entry.EventBusName), event);
      return { EventId: id };
    } catch (error) {
      return failure("InternalFailure", errorText(error));
    }
  }

  async function deliver(bus: string, event: { source: string; "detail-type": string }): Promise<void> {
    const { rules = [], buses = [], send, log } = surroundings ?? {};
    const listening = rules.filter((rule) => rule.bus === bus);
    // AWS answers as if it had brought it somewhere.
    if (bus !== DEFAULT_BUS && !buses.includes(bus) && listening.length === 0)
      log?.(`an event was put on the bus ${bus}, which the template does not have`);
    const matching = listening.filter(
      ({ sources = [event.source], detailTypes = [event["detail-type"]] }) =>
        sources.includes(event.source) && detailTypes.includes(event["detail-type"]),
    );
    const body = JSON.stringify(event);
    await Promise.all(matching.flatMap(({ queueArns }) => queueArns.map((arn) => send?.(arn, body))));
  }

  return {
    operations: {
      "AWSEvents.PutEvents": {
        answer: async ({ body }) => {
          const entries = read(body);
          const Entries: Result[] = [];
          for (const entry of entries) Entries.push(await put(entry));
          return { FailedEntryCount: Entries.filter((result) => "ErrorCode" in result).length, Entries };
        },
      },
    },
    start: (given) => {
      surroundings = given;
    },
  };
}

function read(body: unknown): Entry[] {
  const { success, data, error } = z.safeParse(putRequest, body);
  if (!success) {
    const [issue] = error.issues;
    throw invalid(`1 validation error detected: ${issue?.path.join(".")}: ${issue?.message}`);
  }
  const bytes = data.Entries.reduce((sum, entry) => sum + sizeOf(entry), 0);
  if (bytes > MAX_BYTES) throw invalid("Total size of the entries in the request is over the limit.");
  return data.Entries;
}

function invalid(message: string): AwsError {
  return new AwsError("ValidationException", 400, message);
}

function sizeOf({ Source = "", DetailType = "", Detail = "", Time, Resources }: Entry): number {
  const texts = [Source, DetailType, Detail, ...Resources];
  const time = Time === undefined ? 0 : TIME_BYTES;
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), time);
}

/** What EventBridge refuses one entry for, while it takes the others. */
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
