import { TABLE_OUTPUT } from "../settings/stack-outputs.ts";
import { CliError, UsageError } from "./cli-error.ts";
import type { Session } from "./session.ts";

/** The name of the table of `--stack`. `without`: why the command needs `--stack` or `--table`. */
export async function tableOf({ options }: Session, without: string): Promise<string> {
  const { stack } = options;
  if (stack === undefined) throw new UsageError(`give --stack or --table: ${without}`);
  const { deployedStack } = await import("../aws/account.ts");
  const found = (await deployedStack(stack))?.outputs.find(({ description }) => description === TABLE_OUTPUT);
  if (found === undefined)
    throw new CliError(
      `the stack ${stack} has no output with the description "${TABLE_OUTPUT}": give --table`,
    );
  return found.value;
}
