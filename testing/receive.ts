import type { PulledJob } from "../client/client.ts";
import type { MemoryQueues } from "./memory-queues.ts";
import { startIn } from "./upcoming.ts";

/** As the client has it, of one topic. */
type Receive = (request: { max?: number; waitSeconds: number }) => Promise<PulledJob[]>;

/**
 * What a worker that waits would get by now: nobody's clock moves meanwhile. SQS rounds delays up to whole seconds, which is
 * not played here.
 */
export async function receiveNow(
  { queues, topic, now }: { queues: MemoryQueues; topic: string; now: number },
  receive: Receive,
  request: { max?: number } = {},
): Promise<PulledJob[]> {
  for (const message of queues.messages({ topic })) {
    if (message.receiveCount === 0 && startIn(message) <= now) queues.duplicate({ topic }, message.id);
  }
  return receive({ ...request, waitSeconds: 0 });
}
