import { join } from "node:path";
import { EXCEPTIONS, type Place } from "../e2e/places.ts";
import { ROOT } from "./environment.ts";
import type { Session } from "./session.ts";

/** Runs the end-to-end suite against a deployed stack, and names what it does not ask of this place. */
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
    // Of an API that runs in the suite itself.
    POWERTOOLS_METRICS_DISABLED: "true",
  });
}

/** Runs a project of the tests in a process of its own, since the environment says where it works. */
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
      "--project",
      project,
      "--reporter=verbose",
    ],
    env,
    shown: true,
  });
}
