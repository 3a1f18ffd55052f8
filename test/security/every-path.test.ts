import { afterAll, beforeAll } from "vitest";
import { type Deployment, deploy } from "./deployment.ts";
import { runEveryPath } from "./every-path.ts";
import { testLogs } from "./logs.ts";
import { testRoles } from "./roles.ts";

// One run for both: it is most of their time.
let deployment: Deployment;
beforeAll(async () => {
  deployment = await deploy();
  await runEveryPath(deployment);
}, 280_000);
afterAll(() => deployment.close());

testRoles(() => deployment);
testLogs(() => deployment);
