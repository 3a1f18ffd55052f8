import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import type { Command } from "commander";
import { receiverSecret } from "../../consumer/webhook/receiver-secret.ts";
import { messageOf } from "../../core/errors.ts";
import { CliError, UsageError } from "../cli-error.ts";
import { examples } from "../examples.ts";
import { callLocalService, findStackOf, type OwnStack, servesAt } from "../own-stack.ts";
import type { Open, Session } from "../session.ts";
import { LOCAL_PATIENCE } from "../target.ts";

export function addReceiverSecret(program: Command, open: Open): void {
  const command = program
    .command("receiver-secret")
    .description(
      "print the secret with which one receiver verifies the calls of a webhook topic; reads the topic's secret from stdin, unless --topic is given",
    )
    .argument("<url>", "URL of the receiver; only its origin matters, such as https://shop.example")
    .option(
      "--topic <topic>",
      "read the secret of this topic of --stack, or else of the local stack, and not stdin",
    )
    .option("--data <folder>", "read the secret of --topic of the local stack with this data folder")
    .action(async (url: string, { topic, data }: { topic?: string; data?: string }) => {
      const session = open();
      if (data !== undefined && topic === undefined) throw new UsageError("--data needs --topic");
      const secret =
        topic === undefined ? await typedSecret(session) : await topicSecret(session, topic, data);
      await session.output.line(secretOf(secret, url));
    });
  examples(command, [
    "minutehand receiver-secret http://127.0.0.1:3000 --topic callbacks    # of the local stack",
    "minutehand receiver-secret http://127.0.0.1:3000 --topic callbacks --data .minutehand/test",
    "minutehand receiver-secret https://shop.example --topic callbacks --stack Shop",
    "aws secretsmanager get-secret-value --secret-id ARN --query SecretString --output text |",
    "  minutehand receiver-secret https://shop.example",
  ]);
}

async function typedSecret({ surroundings: { stdin } }: Session): Promise<string> {
  if (stdin.isTTY)
    throw new UsageError("stdin must have the topic's secret, for example from the AWS CLI, or give --topic");
  const secret = (await text(stdin)).trim();
  if (secret === "")
    throw new UsageError("give --topic <topic>, or the topic's secret on stdin: stdin is empty");
  return secret;
}

/** Reads a topic's secret from Secrets Manager, of the deployed stack in `--stack` or else of a local stack. */
async function topicSecret(session: Session, topic: string, data: string | undefined): Promise<string> {
  const { stack, url } = session.options;
  if (data !== undefined && (stack ?? url) !== undefined)
    throw new UsageError(`receiver-secret takes either --data or ${stack ? "--stack" : "--url"}, got both`);
  if (stack !== undefined) {
    const { webhookSecret } = await import("../../aws/account.ts");
    const secret = await webhookSecret(stack, topic);
    if (secret !== undefined) return secret;
    throw new CliError(`--topic must name a webhook topic of the stack ${stack}, got "${topic}"`);
  }
  const own = data === undefined ? await stackOfFolder(session) : await stackOfData(session, data);
  const secrets = new Map(Object.entries(own.record.webhookSecrets));
  const SecretId = secrets.get(topic);
  if (SecretId === undefined) {
    const known = [...secrets.keys()].join(", ") || "none";
    throw new CliError(
      `--topic must name a webhook topic of the local stack, got "${topic}"; it has: ${known}. A topic that is new in the app has its secret after a restart of "minutehand local"`,
    );
  }
  const read = "secretsmanager.GetSecretValue";
  const answer = await callLocalService(own, "secretsManager", read, { SecretId });
  return (answer as { readonly SecretString: string }).SecretString;
}

async function stackOfData({ surroundings }: Session, data: string): Promise<OwnStack> {
  const own = await findStackOf(resolve(surroundings.folder, data), LOCAL_PATIENCE);
  if (own) return own;
  throw new UsageError(`--data must be the data folder of a local stack that runs, got "${data}"`);
}

async function stackOfFolder({ ownStack, options, surroundings }: Session): Promise<OwnStack> {
  const own = await ownStack();
  if (own === undefined)
    throw new UsageError(
      "--topic needs --stack, or a local stack that runs in this folder or above, or its data folder as --data; else the secret comes from stdin",
    );
  const { MINUTEHAND_URL: other } = surroundings.env;
  // A receiver with the secret of another stack would answer 401 to each call.
  if (options.url === undefined && other && !(URL.canParse(other) && servesAt(own.record, other)))
    throw new UsageError(
      `MINUTEHAND_URL is not the local stack of ${own.folder}: give its data folder as --data, its name as --stack, or the local stack as --url ${own.record.url}`,
    );
  return own;
}

function secretOf(secret: string, url: string): string {
  try {
    return receiverSecret(secret, url);
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}
