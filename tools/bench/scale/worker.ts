import { parentPort } from "node:worker_threads";
import type { CpuCosts } from "./lambda.ts";
import type { Setup } from "./limits.ts";
import { play } from "./run.ts";
import { WORKLOADS } from "./workloads.ts";

/** A run that a worker plays. A workload has functions, so only its name can be sent. */
export type Asked = { workload: string; shards: number; setup: Setup; pollers: number; costs: CpuCosts };

parentPort?.on("message", async ({ workload, ...more }: Asked) => {
  const one = WORKLOADS.find(({ name }) => name === workload);
  if (!one) throw new Error(`there is no workload ${workload}`);
  parentPort?.postMessage(await play({ ...one, ...more, scale: one.scale(more.shards) }));
});
