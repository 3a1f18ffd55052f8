import { join } from "node:path";
import { ROOT } from "./environment.ts";
import type { Session } from "./session.ts";

/** The app's one stack: its name, unless the context names it otherwise, and that of its template. */
export const STACK = "Minutehand";

/** Functions of an emulator run on this machine, and so do the receivers that the suite has them call. */
export const RECEIVERS_HERE = "callbackHosts=127.0.0.1";

/** What the CDK needs in an account before it can deploy: a bucket for code, and roles. */
export type Toolkit = {
  /** Its stack. */
  readonly stack: string;
  /** Part of the names of its bucket and roles: up to 10 letters and digits. */
  readonly qualifier: string;
};

type Deployment = {
  readonly env: NodeJS.ProcessEnv;
  /** As `-c` takes it. */
  readonly context?: readonly string[];
  /** Alters the synthesised app in this folder, for what an emulator cannot take. */
  readonly adapt?: (assembly: string) => void;
  /** @default the account's usual one */
  readonly toolkit?: Toolkit;
};

/** Synthesises the app and deploys it with the CDK's own command line, as the guide tells. */
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
