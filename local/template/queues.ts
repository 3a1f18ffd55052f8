import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  QueueDoesNotExist,
  SetQueueAttributesCommand,
  type SQSClient,
} from "@aws-sdk/client-sqs";
import { createEach, type Refusal } from "./create-each.ts";
import type { QueueSpec } from "./resources.ts";

/** Also updates the attributes of existing ones. Messages stay. Answers the queues that SQS rejects. */
export async function createQueues(queues: readonly QueueSpec[], client: SQSClient): Promise<Refusal[]> {
  // SQS rejects a queue whose DLQ does not exist yet, so queues without a DLQ come first.
  const hasDeadLetterQueue = ({ attributes }: QueueSpec) => attributes.RedrivePolicy !== undefined;
  const create = (some: readonly QueueSpec[]) =>
    createEach("queue", some, (queue) => createQueue(queue, client));
  const first = await create(queues.filter((queue) => !hasDeadLetterQueue(queue)));
  return [...first, ...(await create(queues.filter(hasDeadLetterQueue)))];
}

async function createQueue({ name, url, attributes }: QueueSpec, client: SQSClient): Promise<void> {
  if (!(await queueExists(name, client))) {
    await client.send(new CreateQueueCommand({ QueueName: name, Attributes: attributes }));
    return;
  }
  const request = new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ["All"] });
  const { Attributes } = await client.send(request);
  const current: Record<string, string> = Attributes ?? {};
  const changed = Object.entries(attributes).filter(([key, value]) => !isSameValue(current[key], value));
  if (changed.length === 0) return;
  await client.send(
    new SetQueueAttributesCommand({ QueueUrl: url, Attributes: Object.fromEntries(changed) }),
  );
}

async function queueExists(name: string, client: SQSClient): Promise<boolean> {
  try {
    await client.send(new GetQueueUrlCommand({ QueueName: name }));
    return true;
  } catch (error) {
    if (error instanceof QueueDoesNotExist) return false;
    throw error;
  }
}

/** Compares attributes. A RedrivePolicy is JSON: its fields have any order, and its count is a text or a number. */
function isSameValue(current: string | undefined, wanted: string): boolean {
  return (
    current === wanted || (current?.startsWith("{") === true && canonical(current) === canonical(wanted))
  );
}

function canonical(json: string): string {
  const entries = Object.entries(JSON.parse(json)).map(([key, value]) => [key, String(value)]);
  return JSON.stringify(entries.sort());
}
