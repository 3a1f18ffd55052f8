import { setTimeout as sleep } from "node:timers/promises";
import { CloudFormationClient } from "@aws-sdk/client-cloudformation";
import { apiOf } from "../../e2e/api.ts";
import { deployedTarget } from "../../e2e/deployed-stack.ts";
import { cannot, PLACES } from "../../e2e/places.ts";
import { measureLateness } from "./lateness.ts";
import { reportOf } from "./report.ts";
import { partsOf } from "./stack-parts.ts";
import { alarmsOf, denialsIn } from "./troubles.ts";
import { usageBetween } from "./usage.ts";

// `node main.ts <place> <stack> <passed|failed>` prints one table. Last: how the suite ended. The environment selects the account.
const MINUTE = 60_000;
/** After this time CloudWatch has all metrics. Those of SQS come last. */
const METRICS_DELAY = 6 * MINUTE;

const [, , placeName, stack = "", suite] = process.argv;
const place = PLACES.find((one) => one === placeName) ?? "aws";
const notMeasured = cannot(place, "usage");
const isMetered = notMeasured === undefined;

const target = await deployedTarget(place, stack);
const parts = await partsOf(stack);
// Metrics are sums of whole minutes. Begin with a new minute, so that they do not count the last calls of the suite.
if (isMetered) await sleep(MINUTE - (Date.now() % MINUTE));
const from = Date.now();
const lateness = await measureLateness(apiOf(target), `measured-${from}`);
const to = Math.ceil(Date.now() / MINUTE) * MINUTE;
if (isMetered) await sleep(to + METRICS_DELAY - Date.now());
const ended = Date.now();
const hours = (ended - parts.createdAt) / 3_600_000;
console.log(
  `\n${reportOf({
    where: `${place}, ${await new CloudFormationClient({}).config.region()}, Node ${process.version}`,
    date: new Date(from).toISOString(),
    suite: suite === "passed" ? "passed" : "failed",
    lateness,
    measured: isMetered ? await usageBetween(parts, from, to) : undefined,
    whole: isMetered ? await usageBetween(parts, parts.createdAt, ended) : undefined,
    denials: await denialsIn(parts),
    alarms: await alarmsOf(parts),
    hours,
    secrets: parts.named("AWS::SecretsManager::Secret").length,
    notMeasured,
  })}\n`,
);
const missing = lateness.reduce((sum, one) => sum + one.missing, 0);
if (missing > 0) {
  console.error(`${missing} measured jobs were not done in time`);
  process.exitCode = 1;
}
