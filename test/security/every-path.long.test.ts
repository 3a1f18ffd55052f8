import { writeFileSync } from "node:fs";
import { afterAll, beforeAll } from "vitest";
import { type Deployment, deploy } from "./deployment.ts";
import { runEveryPath } from "./every-path.ts";
import { testLogs } from "./logs.ts";
import { testRoles } from "./roles.ts";

/** The file for the requests, which `npm run test:models` reads. It is read here, because `deploy` replaces the environment. */
const { MINUTEHAND_REQUESTS: file } = process.env;

// One run for the logs and the roles, because the run takes most of the time.
let deployment: Deployment;
beforeAll(async () => {
  deployment = await deploy();
  await runEveryPath(deployment);
});
afterAll(async () => {
  const { requests } = deployment.recorder;
  if (file !== undefined)
    writeFileSync(file, requests.map((request) => `${JSON.stringify(request)}\n`).join(""));
  await deployment.close();
});

testRoles(() => deployment);
testLogs(() => deployment);
