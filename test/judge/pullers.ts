import { decodeReceipt } from "../../src/core/receipt.ts";
import { MINUTE, type Process, SECOND, SKEW, TOPICS, type World } from "./world.ts";

type Pulled = { id: string; receipt: string; dueAt: string; leaseUntil: string };

/** How long a puller waits for an answer before another process takes its place. */
const PATIENCE = 2 * MINUTE;

/** What the pullers of a world got. `leases`: until when each job is a puller's, ms since the epoch. */
type Got = { readonly world: World; readonly handedOut: Set<string>; readonly leases: Map<string, number> };

/** One for each topic: no revision twice, no two runs of a job at once, nothing early. In bad weather runs also fail, die or take long. */
export function startPullers(world: World, until: number): void {
  const got: Got = { world, handedOut: new Set(), leases: new Map() };
  for (const topic of TOPICS) void pull(got, topic, until);
}

async function pull(got: Got, topic: string, until: number): Promise<void> {
  const { timeline, draws, isCalm, spawn } = got.world;
  let puller = spawn();
  while (timeline.now() < until) {
    if (puller.isDead()) puller = spawn();
    const max = draws.whole(1, 10);
    const answer = await within(timeline, puller.ask("POST", `/topics/${topic}/receive`, { max }));
    if (!answer) puller.kill();
    const jobs = (answer?.json.jobs ?? []) as Pulled[];
    for (const job of jobs) judge(got, job);
    for (const job of jobs) await settle(got, puller, topic, job);
    if (jobs.length === 0) await timeline.wait(isCalm() ? 25 * SECOND : 4 * SECOND);
  }
}

function within<T>({ wait }: World["timeline"], work: Promise<T>): Promise<T | undefined> {
  return Promise.race([work, wait(PATIENCE).then(() => undefined)]);
}

function judge({ world, handedOut, leases }: Got, { id, receipt, dueAt, leaseUntil }: Pulled): void {
  const { timeline, accuse } = world;
  const now = timeline.now();
  const revision = `${id} revision ${decodeReceipt(receipt)?.revision}`;
  world.say(`handed out ${revision}, due ${dueAt}`);
  world.count("runs");
  if (handedOut.has(revision)) accuse(`${revision} was handed out twice`);
  handedOut.add(revision);
  // Two clocks may be off, in opposite directions.
  if ((leases.get(id) ?? 0) > now + 2 * SKEW) accuse(`${id} runs twice at the same time`);
  leases.set(id, Date.parse(leaseUntil));
  if (Date.parse(dueAt) > now + SKEW) accuse(`${id} was handed out before it was due, ${dueAt}`);
}

async function settle(
  { world, leases }: Got,
  { ask }: Process,
  topic: string,
  { id, receipt }: Pulled,
): Promise<void> {
  const { timeline, draws, isCalm } = world;
  await timeline.wait(draws.pick([1, 50, 2 * SECOND, isCalm() ? 5 : 40 * SECOND]));
  const how = isCalm() ? "finish" : draws.pick(["finish", "finish", "retry", "bury", "extend", "die"]);
  if (how === "die") return;
  const body = { receipt, ...(how === "extend" && { seconds: 60 }) };
  const answer = await within(timeline, ask("POST", `/topics/${topic}/${how}`, body));
  world.say(`${how} ${id}: ${answer?.code ?? answer?.status ?? "no answer"}`);
  // The run of an extended lease is left to crash.
  if (how !== "extend") leases.delete(id);
  else if (answer?.status === 200) leases.set(id, Date.parse(String(answer.json.leaseUntil)));
}
