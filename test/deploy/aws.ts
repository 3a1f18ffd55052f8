import { CloudFormationClient, DescribeStacksCommand } from "@aws-sdk/client-cloudformation";
import { GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";
import { errorText, LocalError } from "../../local/local-error.ts";
import { readAwsOptions } from "./command-line.ts";
import { accountEnvironment } from "./environment.ts";
import { proveStack, removeTestStack, TEST_STACK } from "./prove.ts";
import { runSession } from "./session.ts";

await runSession("test:aws", readAwsOptions, async (session, { profile, region: given, remove }) => {
  const { account, region } = await accountOf(profile, given);
  const env = accountEnvironment(profile, region);
  session.progress(`account ${account}, ${region}, profile ${profile}`);
  if (remove) return removeTestStack(session, env);
  if (await isThere(TEST_STACK, profile, region))
    throw new LocalError(
      `stack ${TEST_STACK} already exists: another run works in this account now, or an earlier run was killed; ` +
        `"npm run test:aws -- --profile ${profile} --region ${region} --remove" deletes what a killed run has left`,
    );
  session.progress("this takes half an hour and costs some cents; Ctrl-C deletes what was created so far");
  await proveStack(session, "aws", { env });
});

/** Throws `LocalError` if the profile has no valid credentials or no region. */
async function accountOf(
  profile: string,
  given: string | undefined,
): Promise<{ account: string; region: string }> {
  const client = new STSClient({ profile, ...(given !== undefined && { region: given }) });
  try {
    const region = await client.config.region();
    const { Account = "" } = await client.send(new GetCallerIdentityCommand({}));
    return { account: Account, region };
  } catch (error) {
    throw new LocalError(`profile ${profile} must have valid credentials and a region: ${errorText(error)}`);
  } finally {
    client.destroy();
  }
}

async function isThere(StackName: string, profile: string, region: string): Promise<boolean> {
  const client = new CloudFormationClient({ profile, region });
  try {
    await client.send(new DescribeStacksCommand({ StackName }));
    return true;
  } catch (error) {
    if (errorText(error).includes("does not exist")) return false;
    throw error;
  } finally {
    client.destroy();
  }
}
