import type { Deployment } from "./deployment.ts";
import {
  callEveryRoute,
  comeRound,
  eraseJobs,
  pauseEveryWay,
  produce,
  settleEveryWay,
} from "./paths-of-calls.ts";
import {
  consumeEveryWay,
  consumeHeld,
  consumeOfBefore,
  consumeUntracked,
  pullEveryWay,
  pullHeld,
} from "./paths-of-runs.ts";
import { comeAbout, compareSchedules, fileFarAhead, tickEveryWay } from "./paths-of-time.ts";
import { createScenes } from "./scenes.ts";

/** Lets the code meet the places where it calls AWS. `UNREACHABLE` in `roles.ts` lists the places that these scenes do not meet. */
export async function runEveryPath(deployment: Deployment): Promise<void> {
  const scenes = createScenes(deployment);
  await deployment.tick();
  await callEveryRoute(scenes);
  const byWorker = createScenes({ ...deployment, call: deployment.callByWorker });
  for (const pulling of [scenes, byWorker]) {
    // Otherwise these scenes would first receive the messages that are left in the queues.
    for (const topic of ["work", "events"]) await scenes.purge(topic);
    await pullEveryWay(pulling);
  }
  for (const pulling of [scenes, byWorker]) await pullHeld(pulling);
  await settleEveryWay(byWorker);
  for (const topic of ["orders", "precise", "hooks", "copies"] as const) {
    await consumeEveryWay(scenes, topic);
    await consumeHeld(scenes, topic);
  }
  await consumeUntracked(scenes);
  await produce(scenes);
  await pauseEveryWay(scenes);
  await fileFarAhead(scenes);
  await comeRound(scenes);
  await consumeOfBefore(scenes);
  await tickEveryWay(scenes);
  await comeAbout(scenes);
  await compareSchedules(scenes);
  await eraseJobs(scenes);
}
