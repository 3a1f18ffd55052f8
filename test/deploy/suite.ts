import { join } from "node:path";
import { EXCEPTIONS, type Place } from "../e2e/places.ts";
import { ROOT } from "./environment.ts";
import type { Session } from "./session.ts";

/** Runs the end-to-end suite against a deployed stack. First prints the exceptions of this place, with the reasons. */
export async function runSuite(
  session: Session,
  place: Exclude<Place, "embedded">,
  stack: string,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  session.progress(`end-to-end suite on ${place}, stack ${stack}: about five minutes`);
  for (const { exception, reason } of EXCEPTIONS.filter((one) => one.place === place))
    session.progress(`exception on ${place}: ${exception}: ${reason}`);
  await runTests(session, "e2e", {
    ...env,
    MINUTEHAND_E2E_PLACE: place,
    MINUTEHAND_E2E_STACK: stack,
    // If the stack has no HTTP API, the API runs in the suite's process, and its metrics would fill the output.
    POWERTOOLS_METRICS_DISABLED: "true",
  });
}

/** Runs a project of the tests in its own process, because the environment tells the tests where the stack is. */
export async function runTests(
  session: Session,
  project: "e2e" | "life",
  env: NodeJS.ProcessEnv,
): Promise<void> {
  await session.run({
    name: `the tests of ${project}`,
    command: process.execPath,
    args: [
      join(ROOT, "node_modules/vitest/vitest.mjs"),
      "run",
      "--root",
      ROOT,
      "--mode=all",
      `--project=${project}`,
      "--reporter=verbose",
    ],
    env,
    shown: true,
  });
}
