import { fork } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { PlainConsumerSettings, PlainStarts } from "./plain-consumer.ts";

const PROGRAM = fileURLToPath(new URL("plain-consumer.ts", import.meta.url));
const LOOK_EVERY_MS = 25;

export type PlainConsumers = {
  readonly of: (ids: readonly string[], timeoutMs: number) => Promise<number[]>;
  readonly stop: () => void;
};

export function startPlainConsumers(count: number, settings: PlainConsumerSettings): PlainConsumers {
  const started = new Map<string, number>();
  const children = Array.from({ length: count }, () => {
    const child = fork(PROGRAM, [JSON.stringify(settings)], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    child.on("message", ({ ids, at }: PlainStarts) => {
      for (const id of ids) started.set(id, at);
    });
    return child;
  });
  return {
    async of(ids, timeoutMs) {
      const until = Date.now() + timeoutMs;
      while (ids.some((id) => !started.has(id))) {
        if (Date.now() >= until)
          throw new Error(`the ceiling's jobs did not all start within ${timeoutMs} ms`);
        await sleep(LOOK_EVERY_MS);
      }
      return ids.map((id) => started.get(id) ?? Number.NaN);
    },
    stop: () => {
      for (const child of children) child.kill();
    },
  };
}
