import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { errorText, LocalError } from "../../local/local-error.ts";

const DEPLOY_HELP = `Deploys the app to MiniStack with the CDK and runs the end-to-end suite there.

  npm run test:deploy [-- --stack NAME]

  --stack NAME   does not deploy, but runs the suite against this stack of the app, in the AWS account and region of the
                 environment. The suite files jobs in the stack's topics, pulls jobs from its pull topics, pauses the topics
                 precise and events for some seconds, keeps some schedules for a minute, and puts events on the default bus

Needs openssl, and Python 3.10 or later with venv: python3, or the program that PYTHON_BIN names. Installs MiniStack into
~/.cache/minutehand-ministack, or into the folder that MINUTEHAND_MINISTACK_CACHE names.`;

const LOCALSTACK_HELP = `Deploys the app without its HTTP API to LocalStack with the CDK and runs the end-to-end suite there.

  npm run test:localstack [-- --prepare]

  --prepare      only fills the cache of the LocalStack that needs no docker; does nothing if LOCALSTACK_ENDPOINT is set

Uses the LocalStack at LOCALSTACK_ENDPOINT. If this is not set, uses the LocalStack that answers at http://127.0.0.1:4566
(docker compose up -d localstack). If none answers, starts one without docker by start.sh in ../shared/localstack, or in the
folder that MINUTEHAND_LOCALSTACK_KIT names.`;

const AWS_HELP = `Deploys the app to an AWS account as a stack of its own, runs the end-to-end suite there, and measures
lateness, usage and cost. Prints one Markdown table, and deletes all that it has created, also after an error or Ctrl-C.

  npm run test:aws -- --profile NAME [--region REGION] [--remove]

  --profile NAME   the profile of the AWS configuration; it must have the rights to deploy with the CDK
  --region REGION  the region to deploy to; by default the profile's
  --remove         only deletes what a killed run has left

Creates the stacks MinutehandTest and MinutehandTestToolkit, and the toolkit's bucket. Puts events of source minutehand.e2e on
the region's default bus. Takes half an hour and costs some cents.`;

/** Throws `LocalError` for wrong arguments. Answers `undefined` if `--help` was given, after it printed the help. */
export function readDeployOptions(args: readonly string[]): { stack: string | undefined } | undefined {
  const values = parse(args, { stack: { type: "string" } });
  if (values.help) return print(DEPLOY_HELP);
  const stack = values.stack as string | undefined;
  // "Naming", AWS CloudFormation User Guide.
  if (stack !== undefined && !/^[A-Za-z][A-Za-z0-9-]{0,127}$/.test(stack))
    throw new LocalError(
      `--stack must be a stack's name, is "${stack}"; allowed: a letter, then letters, digits and -`,
    );
  return { stack };
}

export function readLocalStackOptions(args: readonly string[]): { prepare: boolean } | undefined {
  const values = parse(args, { prepare: { type: "boolean" } });
  return values.help ? print(LOCALSTACK_HELP) : { prepare: values.prepare === true };
}

export type AwsOptions = { profile: string; region: string | undefined; remove: boolean };

export function readAwsOptions(args: readonly string[]): AwsOptions | undefined {
  const values = parse(args, {
    profile: { type: "string" },
    region: { type: "string" },
    remove: { type: "boolean" },
  });
  if (values.help) return print(AWS_HELP);
  const { profile, region, remove } = values as { profile?: string; region?: string; remove?: boolean };
  if (!profile)
    throw new LocalError(
      "--profile must name a profile of the AWS configuration; --help says what this command does",
    );
  if (region !== undefined && !/^[a-z]{2}(-[a-z]+)+-\d$/.test(region))
    throw new LocalError(`--region must be a region's code, is "${region}"; an example is eu-central-1`);
  return { profile, region, remove: remove === true };
}

function parse(args: readonly string[], own: ParseArgsOptionsConfig) {
  const options = { ...own, help: { type: "boolean", short: "h" } } satisfies ParseArgsOptionsConfig;
  try {
    return parseArgs({ args: [...args], options }).values as Record<string, string | boolean | undefined>;
  } catch (error) {
    // parseArgs adds advice after the first sentence, some of it for positional arguments only.
    const [reason] = errorText(error).split(/\. |\n/);
    throw new LocalError(
      `${reason}; allowed are ${Object.keys(options)
        .map((name) => `--${name}`)
        .join(" and ")}`,
    );
  }
}

function print(text: string): undefined {
  console.log(text);
  return undefined;
}
