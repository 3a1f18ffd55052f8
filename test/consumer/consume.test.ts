import type { Context as LambdaContext, SQSEvent } from "aws-lambda";
import { expect, test } from "vitest";
import { consumeOn } from "../../src/consumer/consume.ts";
import { createWorld, SECOND } from "../support/world.ts";

test.each([
  [32 * SECOND, 31.5 * SECOND],
  [8 * SECOND, 7.75 * SECOND],
])(
  "an invocation of %d ms answers when its telemetry is flushed, for which %d ms are left",
  async (remaining, left) => {
    const world = createWorld();
    const until: (number | undefined)[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const flush = (by?: number) => {
      until.push(by);
      return promise;
    };
    let answered = false;
    const context = { getRemainingTimeInMillis: () => remaining } as LambdaContext;
    const answer = consumeOn(world.ctx, () => {}, world.timers, flush)({ Records: [] } as SQSEvent, context);
    void answer.then(() => {
      answered = true;
    });
    await new Promise(setImmediate);
    expect({ answered, until }).toEqual({ answered: false, until: [world.now() + left] });
    resolve();
    expect(await answer).toEqual({ batchItemFailures: [] });
  },
);
