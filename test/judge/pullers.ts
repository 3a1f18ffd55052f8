import { decodeReceipt } from "../../core/receipt.ts";
import { MINUTE, type Process, SECOND, SKEW, TOPICS, type World } from "./world.ts";

type Pulled = { id: string; receipt: string; dueAt: string; leaseUntil: string };

/** How long a puller waits for an answer before another process takes its place. */
const PATIENCE = 2 * MINUTE;

/**
 * Starts a puller for each topic, and judges what they get: no revision twice, no two runs of a job at once, nothing early. In bad weather
 * their runs also fail, die or take long.
 */
export function startPullers(world: World, until: number): void {
  const { timeline, accuse, draws, isCalm, spawn } = world;
  const handedOut = new Set<string>();
  const leases = new Map<string, number>();
  const judge = ({ id, receipt, dueAt, leaseUntil }: Pulled): void => {
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
  };
  const within = <T>(work: Promise<T>): Promise<T | undefined> =>
    Promise.race([work, timeline.wait(PATIENCE).then(() => undefined)]);

  const settle = async ({ ask }: Process, topic: string, { id, receipt }: Pulled): Promise<void> => {
    await timeline.wait(draws.pick([1, 50, 2 * SECOND, isCalm() ? 5 : 40 * SECOND]));
    const how = isCalm() ? "finish" : draws.pick(["finish", "finish", "retry", "bury", "extend", "die"]);
    if (how === "die") return;
    const body = { receipt, ...(how === "extend" && { seconds: 60 }) };
    const answer = await within(ask("POST", `/topics/${topic}/${how}`, body));
    world.say(`${how} ${id}: ${answer?.code ?? answer?.status ?? "no answer"}`);
    // The run of an extended lease is left to crash.
    if (how !== "extend") leases.delete(id);
    else if (answer?.status === 200) leases.set(id, Date.parse(String(answer.json.leaseUntil)));
  };
  const pull = async (topic: string): Promise<void> => {
    let puller = spawn();
    while (timeline.now() < until) {
      if (puller.isDead()) puller = spawn();
      const answer = await within(
        puller.ask("POST", `/topics/${topic}/receive`, { max: draws.whole(1, 10) }),
      );
      if (!answer) puller.kill();
      const jobs = (answer?.json.jobs ?? []) as Pulled[];
      for (const job of jobs) judge(job);
      for (const job of jobs) await settle(puller, topic, job);
      if (jobs.length === 0) await timeline.wait(isCalm() ? 25 * SECOND : 4 * SECOND);
    }
  };
  for (const topic of TOPICS) void pull(topic);
}
