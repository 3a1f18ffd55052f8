import type { Deployment } from "./deployment.ts";
import { callEveryRoute, comeRound, pauseEveryWay, produce } from "./paths-of-calls.ts";
import {
  consumeEveryWay,
  consumeHeld,
  consumeOfBefore,
  consumeUntracked,
  pullEveryWay,
  pullHeld,
} from "./paths-of-runs.ts";
import { comeAbout, fileFarAhead, tickEveryWay } from "./paths-of-time.ts";
import { createScenes } from "./scenes.ts";

/** Meets every path of the code that calls DynamoDB or SQS, and every outcome of the HTTP API's routes. */
export async function runEveryPath(deployment: Deployment): Promise<void> {
  const scenes = createScenes(deployment);
  await deployment.tick();
  await callEveryRoute(scenes);
  await pullEveryWay(scenes);
  await pullHeld(scenes);
  for (const topic of ["orders", "precise", "hooks"] as const) {
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
}
