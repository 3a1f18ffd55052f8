import type { PulledJob } from "../client/answers.ts";
import type { MemoryQueues } from "./memory-queues.ts";
import { startIn } from "./upcoming.ts";

/** The client's `receive` of one topic. */
type Receive<Body> = (request: { max?: number; waitSeconds: number }) => Promise<PulledJob<Body>[]>;

/** Without a wait. Makes the due jobs' messages visible first: a delay in whole seconds may end after the job is due. */
export async function receiveNow<Body>(
  { queues, topic, now }: { queues: MemoryQueues; topic: string; now: number },
  receive: Receive<Body>,
  request: { max?: number } = {},
): Promise<PulledJob<Body>[]> {
  for (const message of queues.messages({ topic })) {
    if (message.receiveCount === 0 && startIn(message) <= now) queues.duplicate({ topic }, message.id);
  }
  return receive({ ...request, waitSeconds: 0 });
}
