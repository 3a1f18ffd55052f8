import { text } from "node:stream/consumers";
import type { Command } from "commander";
import { receiverSecret } from "../../consumer/webhook/receiver-secret.ts";
import { messageOf } from "../../core/errors.ts";
import { CliError, UsageError } from "../cli-error.ts";
import { examples } from "../examples.ts";
import { callLocalService } from "../own-stack.ts";
import type { Open, Session } from "../session.ts";

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
    .action(async (url: string, { topic }: { topic?: string }) => {
      const session = open();
      const secret = topic === undefined ? await typedSecret(session) : await topicSecret(session, topic);
      await session.output.line(secretOf(secret, url));
    });
  examples(command, [
    "minutehand receiver-secret http://127.0.0.1:3000 --topic callbacks    # of the local stack",
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

/** Reads a topic's secret from Secrets Manager, of the deployed stack in `--stack` or else of the local stack. */
async function topicSecret({ options, ownStack }: Session, topic: string): Promise<string> {
  if (options.stack !== undefined) {
    const { webhookSecret } = await import("../../aws/account.ts");
    const secret = await webhookSecret(options.stack, topic);
    if (secret !== undefined) return secret;
    throw new CliError(`--topic must name a webhook topic of the stack ${options.stack}, got "${topic}"`);
  }
  const own = await ownStack();
  if (own === undefined)
    throw new UsageError(
      "--topic needs --stack, or a local stack that runs in this folder or above; else the secret comes from stdin",
    );
  const secrets = new Map(Object.entries(own.record.webhookSecrets));
  const SecretId = secrets.get(topic);
  if (SecretId === undefined) {
    const known = [...secrets.keys()].join(", ") || "none";
    throw new CliError(
      `--topic must name a webhook topic of the local stack, got "${topic}"; it has: ${known}`,
    );
  }
  const read = "secretsmanager.GetSecretValue";
  const answer = await callLocalService(own, "secretsManager", read, { SecretId });
  return (answer as { readonly SecretString: string }).SecretString;
}

function secretOf(secret: string, url: string): string {
  try {
    return receiverSecret(secret, url);
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}
