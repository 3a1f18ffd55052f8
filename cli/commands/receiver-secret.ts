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
      "the secret by which one receiver verifies a webhook topic's calls; the topic's own comes on stdin",
    )
    .argument("<url>", "of the receiver: its origin counts, such as https://shop.example")
    .action(async (url: string) => {
      const { surroundings, output } = open();
      if (surroundings.stdin.isTTY)
        throw new UsageError("the topic's secret must come on stdin, such as from the AWS CLI");
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
