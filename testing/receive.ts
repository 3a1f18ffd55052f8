import type { PulledJob } from "../sdk/client.ts";
import type { MemoryQueues } from "./memory-queues.ts";
import { startIn } from "./upcoming.ts";

/** As the client has it, of one topic. */
type Receive = (request: { max?: number; waitSeconds: number }) => Promise<PulledJob[]>;

/**
 * What a worker that waits would get by now: nobody's clock moves meanwhile. SQS rounds delays up to whole seconds, which is
 * not played here, and void messages are no answer.
 */
export async function receiveNow(
  { queues, topic, now }: { queues: MemoryQueues; topic: string; now: number },
  receive: Receive,
  request: { max?: number } = {},
): Promise<PulledJob[]> {
  for (const message of queues.messages({ topic })) {
    if (message.receiveCount === 0 && startIn(message) <= now) queues.duplicate({ topic }, message.id);
  }
  const visible = (): number => queues.messages({ topic }).filter(({ visibleAt }) => visibleAt <= now).length;
  for (let before = visible(); ; ) {
    const jobs = await receive({ ...request, waitSeconds: 0 });
    const left = visible();
    // Of a paused topic none is taken.
    if (jobs.length > 0 || left === 0 || left >= before) return jobs;
    before = left;
  }
}
