import { text } from "node:stream/consumers";
import type { Command } from "commander";
import { receiverSecret } from "../../consumer/webhook/receiver-secret.ts";
import { messageOf } from "../../core/errors.ts";
import { UsageError } from "../cli-error.ts";
import { examples } from "../examples.ts";
import type { Open } from "../session.ts";

export function addReceiverSecret(program: Command, open: Open): void {
  const command = program
    .command("receiver-secret")
    .description(
      "print the secret with which one receiver verifies the calls of a webhook topic; reads the topic's secret from stdin",
    )
    .argument("<url>", "URL of the receiver; only its origin matters, such as https://shop.example")
    .action(async (url: string) => {
      const { surroundings, output } = open();
      if (surroundings.stdin.isTTY)
        throw new UsageError("stdin must have the topic's secret, for example from the AWS CLI");
      const secret = (await text(surroundings.stdin)).trim();
      await output.line(secretOf(secret, url));
    });
  examples(command, [
    "aws secretsmanager get-secret-value --secret-id ARN --query SecretString --output text |",
    "  minutehand receiver-secret https://shop.example",
  ]);
}

function secretOf(secret: string, url: string): string {
  try {
    return receiverSecret(secret, url);
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}
