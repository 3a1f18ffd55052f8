import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { CLOCK_MARGIN, CLOCK_SKEW_SEEN } from "../core/constants.ts";

const SECOND = 1000;

/**
 * Compares this machine's clock with the times at which DynamoDB says that it answered. If they differ by more than `CLOCK_SKEW_SEEN`,
 * calls `warn` once, with a sentence. The SDK corrects its signatures by DynamoDB's clock, so without this warning nobody would see that
 * the queue's times are wrong.
 *
 * @param clock ms since the epoch
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
 * Answers by how much a clock is surely ahead of a service's clock, in ms; less than 0 if it is behind. The service answered at some moment
 * between `asked` and `answered`, and says only the second. `NaN` if the service did not say its time.
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
