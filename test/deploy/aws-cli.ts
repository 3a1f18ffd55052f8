import { dirname, join } from "node:path";
import { pythonWith } from "./python.ts";
import type { Session } from "./session.ts";

const AWS_CLI = {
  name: "the AWS CLI",
  cache: "minutehand-aws-cli",
  variable: "MINUTEHAND_AWS_CLI_CACHE",
  requirements: join(import.meta.dirname, "aws-cli-requirements.txt"),
};

/** Answers the environment variable by which tests find the AWS CLI. Installs it if it is not in the cache. */
export async function awsCliFor(session: Session): Promise<{ MINUTEHAND_AWS_CLI: string }> {
  return { MINUTEHAND_AWS_CLI: join(dirname(await pythonWith(session, AWS_CLI)), "aws") };
}
