import { join } from "node:path";
import { ROOT } from "./environment.ts";
import type { Session } from "./session.ts";

/** The stack's name in `infra/app.ts`. */
export const STACK = "Minutehand";

/** Functions of an emulator run on this machine, and so do the receivers that the suite has them call. */
export const RECEIVERS_HERE = "callbackHosts=127.0.0.1";

type Deployment = {
  readonly env: NodeJS.ProcessEnv;
  /** As `-c` takes it. */
  readonly context?: readonly string[];
  /** Alters the synthesised app in this folder, for what an emulator cannot take. */
  readonly adapt?: (assembly: string) => void;
};

/** Synthesises the app and deploys it with the CDK's own command line, as the guide tells. */
export async function deployApp(session: Session, { env, context = [], adapt }: Deployment): Promise<void> {
  const assembly = join(session.folder, "cdk.out");
  const cdk = (step: string, ...args: string[]) =>
    session.run({
      name: `cdk ${step}`,
      command: process.execPath,
      args: [join(ROOT, "node_modules/aws-cdk/bin/cdk"), step, ...args],
      env,
    });
  session.progress("cdk synth");
  await cdk("synth", "--quiet", "--output", assembly, ...context.flatMap((pair) => ["-c", pair]));
  adapt?.(assembly);
  session.progress("cdk bootstrap");
  await cdk("bootstrap", "--app", assembly);
  session.progress("cdk deploy");
  await cdk("deploy", STACK, "--app", assembly, "--require-approval", "never", "--progress", "events");
}
