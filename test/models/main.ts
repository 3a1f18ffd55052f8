/**
 * Against the data that AWS publishes: cfn-lint checks the templates of the app, of a stack with 40 topics and of `minutehand template` by
 * CloudFormation's schemas,
 * parliament their policies, a check by quotas their sizes, the same schemas the rights in the page about deployment, and botocore every kind of
 * request of the security tests by the services' models. Needs the registries of npm and PyPI.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { LocalError } from "../../local/local-error.ts";
import { DEPLOYMENT_ACTIONS } from "../../tools/site/tables/deployment-rights.ts";
import { ROOT } from "../deploy/environment.ts";
import { pythonWith } from "../deploy/python.ts";
import { runSession, type Session } from "../deploy/session.ts";
import { limitFaults, policiesIn } from "./limits.ts";

const TOOLS = {
  name: "cfn-lint, parliament and botocore",
  cache: "minutehand-models",
  variable: "MINUTEHAND_MODELS_CACHE",
  requirements: join(import.meta.dirname, "requirements.txt"),
};
/** W3005: the CDK writes a dependency of a function on its role, although a reference to the role already implies it. */
const IGNORED = ["W3005"];
/** A topic of each kind. */
const PLAIN = {
  topics: {
    work: { consumer: "pull" },
    calls: { webhook: {} },
    thumbnail: { cancelOn: { detailType: "Deleted", key: "$.detail.id" } },
  },
  targets: {
    thumbnail: { arn: "arn:aws:lambda:eu-central-1:111122223333:function:thumbnail", timeout: "1m" },
  },
  schedules: { nightly: { topic: "work", expression: "@daily", body: {} } },
  alarmTopic: { parameter: "AlarmTopicArn" },
  dashboard: true,
};
const APPS = { Minutehand: "infra/app.ts", Forty: "test/models/forty-topics.ts" };

await runSession("test:models", noOptions, async (session) => {
  const python = await pythonWith(session, TOOLS);
  for (const [stack, app] of Object.entries(APPS))
    await checkTemplate(session, python, { stack, path: await synth(session, stack, app) });
  await checkTemplate(session, python, { stack: "Plain", path: await plain(session) });
  await checkRights(session, python);
  await checkRequests(session, python);
});

function noOptions(args: readonly string[]): Record<string, never> {
  if (args.length === 0) return {};
  throw new LocalError(`test:models takes no arguments, got ${args.join(" ")}`);
}

async function checkTemplate(
  session: Session,
  python: string,
  { stack, path }: { stack: string; path: string },
): Promise<void> {
  const template = readFileSync(path, "utf8");
  const faults = limitFaults(template);
  if (faults.length > 0) throw new LocalError(`${stack}: ${faults.join("; ")}`);
  session.progress(`cfn-lint of ${stack}`);
  await session.run({
    name: `cfn-lint of ${stack}`,
    command: join(dirname(python), "cfn-lint"),
    args: ["--ignore-checks", ...IGNORED, "--", path],
    shown: true,
  });
  const policies = join(session.folder, `${stack}-policies.json`);
  const documents = policiesIn(template).map(({ id, document }) => [id, document]);
  writeFileSync(policies, JSON.stringify(Object.fromEntries(documents)));
  await check(session, python, { name: `policies of ${stack}`, script: "check_policies.py", file: policies });
}

async function checkRights(session: Session, python: string): Promise<void> {
  const file = join(session.folder, "rights.json");
  const rights = Object.entries(DEPLOYMENT_ACTIONS).map(([type, services]) => [
    type,
    Object.entries(services).flatMap(([service, names]) =>
      names.split(" ").map((name) => `${service}:${name}`),
    ),
  ]);
  writeFileSync(file, JSON.stringify(Object.fromEntries(rights)));
  await check(session, python, { name: "rights of a deployment", script: "check_rights.py", file });
}

async function checkRequests(session: Session, python: string): Promise<void> {
  session.progress("the security tests, which meet every kind of request");
  const file = join(session.folder, "requests.jsonl");
  await session.run({
    name: "security tests",
    command: process.execPath,
    args: [
      join(ROOT, "node_modules/vitest/vitest.mjs"),
      "run",
      "--mode=long",
      "--project=security",
      "test/security/every-path.long.test.ts",
    ],
    cwd: ROOT,
    env: { ...process.env, MINUTEHAND_REQUESTS: file },
  });
  await check(session, python, { name: "requests", script: "check_requests.py", file });
}

async function check(
  session: Session,
  python: string,
  { name, script, file }: { name: string; script: string; file: string },
): Promise<void> {
  session.progress(name);
  const args = [join(import.meta.dirname, script), file];
  await session.run({ name, command: python, args, shown: true });
}

async function synth(session: Session, stack: string, app: string): Promise<string> {
  session.progress(`cdk synth of ${stack}`);
  const output = join(session.folder, stack);
  const cdk = join(ROOT, "node_modules/aws-cdk/bin/cdk");
  await session.run({
    name: `cdk synth of ${stack}`,
    command: process.execPath,
    args: [cdk, "synth", "--quiet", "--app", `${process.execPath} ${join(ROOT, app)}`, "--output", output],
  });
  return join(output, `${stack}.template.json`);
}

/** Makes the template of `minutehand template`, with the functions' folders replaced as `aws cloudformation package` does. */
async function plain(session: Session): Promise<string> {
  session.progress("minutehand template");
  const cwd = join(session.folder, "plain");
  mkdirSync(cwd);
  writeFileSync(join(cwd, "minutehand.json"), JSON.stringify(PLAIN));
  const args = [join(ROOT, "src/cli/main.ts"), "template", "--out", "deploy"];
  await session.run({ name: "minutehand template", command: process.execPath, args, cwd });
  const path = join(cwd, "deploy", "template.json");
  const packaged = readFileSync(path, "utf8").replaceAll(
    /"Code": "\.\/(functions\/[\w-]+)"/g,
    '"Code": { "S3Bucket": "code", "S3Key": "$1" }',
  );
  writeFileSync(path, packaged);
  return path;
}
