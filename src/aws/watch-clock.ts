import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { CLOCK_MARGIN, CLOCK_SKEW_SEEN } from "../core/constants.ts";

const SECOND = 1000;

/**
 * Calls `warn` once, with a sentence, if this clock and DynamoDB's differ by more than `CLOCK_SKEW_SEEN`. The SDK signs by DynamoDB's clock, so
 * otherwise nobody would see that the queue's times are wrong. `clock`: ms since the epoch.
 */
export function watchClock(
  client: DynamoDBClient,
  clock: () => number,
  warn: (sentence: string) => void,
): DynamoDBClient {
  let hasWarned = false;
  client.middlewareStack.add(
    (next) => async (args) => {
      const asked = clock();
      const result = await next(args);
      if (hasWarned) return result;
      const { headers = {} } = result.response as { headers?: Record<string, string> };
      const ahead = aheadBy(Date.parse(headers.date ?? ""), asked, clock());
      if (Math.abs(ahead) > CLOCK_SKEW_SEEN) {
        hasWarned = true;
        warn(skewText(ahead));
      }
      return result;
    },
    { step: "deserialize", name: "watchClock" },
  );
  return client;
}

/**
 * By how many ms a clock is surely ahead (less than 0: behind). The service answered between `asked` and `answered`, and says only the second.
 * `NaN` if it said no time.
 */
function aheadBy(said: number, asked: number, answered: number): number {
  if (asked > said + SECOND) return asked - said - SECOND;
  return Math.min(answered - said, 0);
}

function skewText(ahead: number): string {
  const seconds = Math.round(Math.abs(ahead) / SECOND);
  return (
    `the clock of this machine is ${seconds} s ${ahead > 0 ? "ahead of" : "behind"} DynamoDB's; ` +
    `the clocks of a queue's machines may differ by ${CLOCK_MARGIN / SECOND} s, so set this clock`
  );
}
