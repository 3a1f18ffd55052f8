/**
 * The templates of the app and of a stack of 40 topics as cfn-lint sees them, which knows CloudFormation's schemas and limits, and
 * against the limits of IAM that it does not know. Needs the registries of npm and PyPI.
 */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { LocalError } from "../../local/local-error.ts";
import { ROOT } from "./environment.ts";
import { pythonWith } from "./python.ts";
import { runSession, type Session } from "./session.ts";

const CFN_LINT = {
  name: "cfn-lint",
  cache: "minutehand-cfn-lint",
  variable: "MINUTEHAND_CFN_LINT_CACHE",
  requirements: join(import.meta.dirname, "cfn-lint-requirements.txt"),
};
/** W3005: the CDK has a function depend on its role, which it names too. */
const IGNORED = ["W3005"];
const APPS = { Minutehand: "infra/app.ts", Forty: "test/deploy/forty-topics.ts" };
/** "CloudFormation quotas" and "IAM and AWS STS quotas", by their user guides. */
const MOST = {
  bytes: 1_000_000,
  resources: 500,
  policiesOfRole: 10,
  policyChars: 6_144,
  inlineChars: 10_240,
};

/** As long as any: of the parameters that CloudFormation has for each stack. */
const PSEUDO: Record<string, string> = {
  "AWS::Partition": "aws-us-gov",
  "AWS::Region": "ap-southeast-1",
  "AWS::AccountId": "123456789012",
  "AWS::URLSuffix": "amazonaws.com.cn",
};

await runSession("test:templates", noOptions, async (session) => {
  const python = await pythonWith(session, CFN_LINT);
  for (const [stack, app] of Object.entries(APPS)) {
    const path = await synth(session, stack, app);
    const faults = limitFaults(readFileSync(path, "utf8"));
    if (faults.length > 0) throw new LocalError(`${stack}: ${faults.join("; ")}`);
    session.progress(`cfn-lint of ${stack}`);
    await session.run({
      name: `cfn-lint of ${stack}`,
      command: join(dirname(python), "cfn-lint"),
      args: ["--ignore-checks", ...IGNORED, "--", path],
      shown: true,
    });
  }
});

function noOptions(args: readonly string[]): Record<string, never> {
  if (args.length === 0) return {};
  throw new LocalError(`test:templates takes no arguments, got ${args.join(" ")}`);
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

type Template = { Resources: Record<string, { Type: string; Properties?: Record<string, unknown> }> };

/** What of a template is over a limit of CloudFormation's or IAM's. */
function limitFaults(text: string): string[] {
  const { Resources } = JSON.parse(text) as Template;
  const of = (type: string) => Object.entries(Resources).filter(([, { Type }]) => Type === type);
  const faults: string[] = [];
  const check = (what: string, is: number, most: number): void => {
    if (is > most) faults.push(`${what} must be at most ${most}, is ${is}`);
  };
  check("the template's bytes", Buffer.byteLength(text), MOST.bytes);
  check("its resources", Object.keys(Resources).length, MOST.resources);
  const policies = [...of("AWS::IAM::Policy"), ...of("AWS::IAM::ManagedPolicy")];
  const attached = policies.flatMap(([id, { Type, Properties = {} }]) =>
    (Properties.Roles as { Ref: string }[]).map(({ Ref: role }) => {
      return {
        id,
        role,
        isManaged: Type.endsWith("ManagedPolicy"),
        chars: charsOf(Properties.PolicyDocument),
      };
    }),
  );
  for (const [role, all] of Map.groupBy(attached, ({ role }) => role)) {
    const [managed, inline] = [
      all.filter(({ isManaged }) => isManaged),
      all.filter(({ isManaged }) => !isManaged),
    ];
    check(`${role}'s managed policies`, managed.length, MOST.policiesOfRole);
    for (const { id, chars } of managed) check(`${id}'s characters`, chars, MOST.policyChars);
    check(
      `the characters of ${role}'s policies`,
      inline.reduce((sum, { chars }) => sum + chars, 0),
      MOST.inlineChars,
    );
  }
  return faults;
}

/** How long a policy is when its references have become ARNs and names, of which few have 100 and 40 characters. */
function charsOf(document: unknown): number {
  return JSON.stringify(deployed(document)).length;
}

function deployed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(deployed);
  if (typeof value !== "object" || value === null) return value;
  const { Ref: ref, "Fn::GetAtt": attribute, "Fn::Join": join } = value as Record<string, unknown>;
  if (ref !== undefined) return PSEUDO[ref as string] ?? "x".repeat(40);
  if (attribute !== undefined) return "x".repeat(100);
  if (join !== undefined) {
    const [delimiter, parts] = join as [string, unknown[]];
    return parts.map(deployed).join(delimiter);
  }
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, deployed(part)]));
}
