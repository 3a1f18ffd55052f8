import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  type SQSClient,
} from "@aws-sdk/client-sqs";
import { sqsClient } from "../../src/aws/clients.ts";
import { sqsQueues } from "../../src/aws/queues.ts";
import { queuesContract } from "../contract/queues-contract.ts";
import { MAX_RECEIVE_COUNT } from "../contract/receive-contract.ts";
import { elsewhere, startSqs, useEndpoint } from "./emulators.ts";

async function createQueue(client: SQSClient, name: string, Attributes: Record<string, string> = {}) {
  const { QueueUrl = "" } = await client.send(new CreateQueueCommand({ QueueName: name, Attributes }));
  return QueueUrl;
}

/** Creates a ready queue with its DLQ, as the stack does. Answers the ready queue's URL. */
async function createTopic(client: SQSClient, name: string): Promise<string> {
  const deadUrl = await createQueue(client, `${name}_dlq`);
  const asked = new GetQueueAttributesCommand({ QueueUrl: deadUrl, AttributeNames: ["QueueArn"] });
  const deadLetterTargetArn = (await client.send(asked)).Attributes?.QueueArn;
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: MAX_RECEIVE_COUNT });
  return createQueue(client, name, { RedrivePolicy });
}

queuesContract(
  "on SQS",
  async () => {
    const emulator = await startSqs();
    useEndpoint("SQS", emulator.endpoint);
    const client = sqsClient();
    const prefix = `contract-${randomUUID().slice(0, 8)}-`;
    const urlPrefix = (await createTopic(client, `${prefix}first`)).slice(0, -"first".length);
    let drawn = 0;
    return {
      queues: sqsQueues({ client, urlPrefix }),
      async topic() {
        const topic = `topic-${++drawn}`;
        await createTopic(client, prefix + topic);
        return topic;
      },
      async groups(topic) {
        const command = new ReceiveMessageCommand({
          QueueUrl: urlPrefix + topic,
          MaxNumberOfMessages: 10,
          MessageSystemAttributeNames: ["MessageGroupId"],
        });
        const { Messages = [] } = await client.send(command);
        return Messages.map(({ Attributes }) => Attributes?.MessageGroupId);
      },
      pass: (seconds) => sleep(seconds * 1000),
      async close() {
        client.destroy();
        await emulator.close();
      },
    };
  },
  elsewhere ? [] : ["drops-groups"],
);
