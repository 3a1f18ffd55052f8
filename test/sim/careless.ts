import { LEAST_RETENTION } from "../../src/core/constants.ts";
import type { Api } from "./platform.ts";
import type { World } from "./world.ts";

const JOB = { topic: "orders", delay: 60, body: { careless: 1 } };
const SCHEDULE = { expression: "rate(1 minute)", topic: "orders", body: {} };
/** The first call files a job; the others must be refused with these codes. All have the same `Idempotency-Key`. */
const CALLS = [
  [undefined, "POST", "/jobs", JOB],
  ["idempotency-mismatch", "POST", "/jobs", { ...JOB, body: { careless: 2 } }],
  ["bad-request", "PUT", "/schedules/never", { ...SCHEDULE, expression: "at(2020-01-01T00:00:00)" }],
  ["bad-request", "PUT", "/schedules/wrong", { ...SCHEDULE, expression: "cron(0 25 * * ? *)" }],
  ["not-a-pull-topic", "POST", "/topics/orders/receive", { max: 1 }],
  // EventBridge Scheduler keeps each < as six bytes.
  ["too-large", "PUT", "/schedules/large", { ...SCHEDULE, body: "<".repeat(50_000) }],
] as const;

/** In some histories, a user makes calls that must be refused. */
export function careless(world: World, api: Api): void {
  const own = world.draws("careless");
  const time = world.timeline.now() + own.next() * world.stretch.span;
  // TTL may delete the home of a job with a retention of minutes, and then the first call is not known any more.
  const remembersCalls = world.policy.retention * 1000 >= LEAST_RETENTION;
  if (!own.chance(0.1) || !remembersCalls || world.isLeftOut("careless:1")) return;
  const call = async (): Promise<void> => {
    for (const [code, method, path, body] of CALLS) {
      const answer = await api(method, path, body, { "idempotency-key": "careless" });
      if (code === undefined && answer?.status !== 201) break;
      if (code !== undefined && answer && answer.status < 500 && answer.body.code !== code)
        world.witness.defect(`${path} was not refused as ${code}: ${JSON.stringify(answer)}`);
    }
  };
  world.join(time, call);
}
