import { join } from "node:path";
import { ROOT } from "./environment.ts";
import type { Session } from "./session.ts";

/** The id of the app's only stack. Its template has this name, and so has the deployed stack unless the context has `stackName`. */
export const STACK = "Minutehand";

/** Allows webhooks to call this machine, on which an emulator's functions and the suite's receivers run. */
export const RECEIVERS_HERE = "callbackHosts=127.0.0.1";

/** Adds a topic whose jobs a function in Python runs. */
export const PYTHON_TARGET = "pythonTarget=true";

/** What the CDK needs in an account before it can deploy: a bucket for code, and roles. */
export type Toolkit = {
  readonly stack: string;
  /** Part of the names of its bucket and roles: up to 10 letters and digits. */
  readonly qualifier: string;
};

type Deployment = {
  readonly env: NodeJS.ProcessEnv;
  /** Pairs `key=value`, as the option `-c` takes them. */
  readonly context?: readonly string[];
  /** Changes the synthesised templates in this folder where the emulator behaves differently from AWS. */
  readonly adapt?: (assembly: string) => void;
  /** @default the CDK's default toolkit, `CDKToolkit` */
  readonly toolkit?: Toolkit;
};

/** Synthesises, bootstraps and deploys the app with the CDK's command line, as docs/guides/deploying.md says. */
export async function deployApp(
  session: Session,
  { env, context = [], adapt, toolkit }: Deployment,
): Promise<void> {
  const assembly = join(session.folder, "cdk.out");
  const cdk = (step: string, ...args: string[]) =>
    session.run({
      name: `cdk ${step}`,
      command: process.execPath,
      args: [join(ROOT, "node_modules/aws-cdk/bin/cdk"), step, ...args],
      env,
    });
  const qualifier = toolkit ? [`@aws-cdk/core:bootstrapQualifier=${toolkit.qualifier}`] : [];
  const pairs = [...context, ...qualifier].flatMap((pair) => ["-c", pair]);
  const stackArgs = toolkit ? ["--toolkit-stack-name", toolkit.stack] : [];
  session.progress("cdk synth");
  await cdk("synth", "--quiet", "--output", assembly, ...pairs);
  adapt?.(assembly);
  session.progress("cdk bootstrap");
  const named = toolkit ? [...stackArgs, "--qualifier", toolkit.qualifier] : [];
  await cdk("bootstrap", "--app", assembly, ...named);
  session.progress("cdk deploy");
  const quietly = ["--require-approval", "never", "--progress", "events"];
  await cdk("deploy", STACK, "--app", assembly, ...quietly, ...stackArgs);
}
