import { join } from "node:path";
import type { Place } from "../e2e/places.ts";
import { deployApp, type Toolkit } from "./cdk.ts";
import type { Session } from "./session.ts";
import { runSuite } from "./suite.ts";

/** The names of what a run deploys. They differ from the default names, so a run changes no other queue of the account. */
export const TEST_STACK = "MinutehandTest";
const TOOLKIT: Toolkit = { stack: "MinutehandTestToolkit", qualifier: "mhtest" };
const CONTEXT = [`stackName=${TEST_STACK}`, "prefix=minutehand-test", "removable=true"];

const SCRIPTS = { measure: "measure/main.ts", remove: "remove.ts" } as const;

type Settings = {
  readonly env: NodeJS.ProcessEnv;
  readonly context?: readonly string[];
  readonly adapt?: (assembly: string) => void;
  /** Other tests in the same account. They run during the measurement, which mostly waits. */
  readonly beside?: () => Promise<void>;
};

/**
 * Deploys a stack of its own, runs the suite, measures, and deletes all that it created: also after an error or Ctrl-C. Throws when the
 * suite or a later step fails.
 */
export async function proveStack(
  session: Session,
  place: Exclude<Place, "embedded">,
  { env, context = [], adapt, beside }: Settings,
): Promise<void> {
  let isRemoved = false;
  // Ctrl-C ends the script of a removal that is under way. Then the end of the session begins the removal again.
  const remove = async (): Promise<void> => {
    if (isRemoved) return;
    await removeTestStack(session, env);
    isRemoved = true;
  };
  session.atEnd(remove);
  await deployApp(session, {
    env,
    context: [...CONTEXT, ...context],
    toolkit: TOOLKIT,
    ...(adapt && { adapt }),
  });
  const failure = await runSuite(session, place, TEST_STACK, env).then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  session.progress("measuring: about five minutes, on AWS about twelve");
  const measured = runScript(session, "measure", [place, TEST_STACK, failure ? "failed" : "passed"], env);
  await Promise.all([measured, beside?.()]);
  await remove();
  if (failure) throw failure.error;
}

export async function removeTestStack(session: Session, env: NodeJS.ProcessEnv): Promise<void> {
  session.progress(`deleting stack ${TEST_STACK} and stack ${TOOLKIT.stack}: some minutes`);
  await runScript(session, "remove", [TEST_STACK, TOOLKIT.stack, TOOLKIT.qualifier], env);
  session.progress("both stacks and the toolkit's bucket are deleted");
}

/** Runs a script in its own process, because the script takes the account from its environment. */
function runScript(
  session: Session,
  name: "measure" | "remove",
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const script = join(import.meta.dirname, SCRIPTS[name]);
  return session.run({ name, command: process.execPath, args: [script, ...args], env, shown: true });
}
