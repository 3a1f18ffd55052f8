import { AwsV4Signer } from "aws4fetch";
import { messageOf } from "../core/errors.ts";
import { awsCredentials } from "./credentials.ts";
import type { EventEntry, PutEventsAnswer } from "./put-event.ts";

/** `Time`: seconds since the epoch. */
export type BusEntry = EventEntry & { readonly EventBusName: string; readonly Time: number };

/**
 * Puts 1 to 10 events on their bus, within `TRIES` tries. Answers for each of them why the bus has not taken it, or `undefined`. Never throws. An
 * event whose answer was lost may be on the bus twice.
 */
export type PutEvents = (entries: readonly BusEntry[]) => Promise<(string | undefined)[]>;

const TRIES = 3;
/** ms of one try. Together with the waits, a call takes less than 3 s. */
const TRY_TIMEOUT = 800;
const FIRST_WAIT = 100;

type Options = {
  /** The address of EventBridge, such as `https://events.eu-central-1.amazonaws.com`. */
  readonly endpoint: string;
  readonly region: string;
  readonly wait: (ms: number) => Promise<void>;
};

/** Calls EventBridge without its client of the SDK: that one would make each handler's bundle and each installation larger, for one operation. */
export function eventBus({ endpoint, region, wait }: Options): PutEvents {
  const credentials = awsCredentials();
  const send = async (entries: readonly BusEntry[]): Promise<(string | undefined)[]> => {
    const request = {
      method: "POST",
      url: endpoint,
      headers: { "content-type": "application/x-amz-json-1.1", "x-amz-target": "AWSEvents.PutEvents" },
      body: JSON.stringify({ Entries: entries }),
    };
    const signer = new AwsV4Signer({ ...request, ...(await credentials()), service: "events", region });
    const { headers } = await signer.sign();
    const signal = AbortSignal.timeout(TRY_TIMEOUT);
    return failuresIn(await fetch(endpoint, { ...request, headers, signal }), entries.length);
  };
  return async (entries) => {
    const failures: (string | undefined)[] = entries.map(() => "not tried");
    for (let tried = 0; tried < TRIES; tried++) {
      if (tried > 0) await wait(FIRST_WAIT * tried);
      const left = [...entries.keys()].filter((i) => failures[i] !== undefined);
      const told = await send(left.map((i) => entries[i] as BusEntry)).catch((error: unknown) =>
        left.map(() => messageOf(error)),
      );
      for (const [n, i] of left.entries()) failures[i] = told[n];
      if (failures.every((failure) => failure === undefined)) break;
    }
    return failures;
  };
}

async function failuresIn(response: Response, count: number): Promise<(string | undefined)[]> {
  const text = await response.text();
  if (!response.ok) throw new Error(`EventBridge answered ${response.status}: ${text.slice(0, 200)}`);
  const { Entries = [] } = JSON.parse(text) as PutEventsAnswer;
  return Array.from({ length: count }, (_, i) => {
    const { ErrorCode: code, ErrorMessage: message } = Entries[i] ?? { ErrorCode: "NoAnswer" };
    return code === undefined ? undefined : [code, message].filter(Boolean).join(": ");
  });
}
