import type { Job } from "../../src/consumer/consumer.ts";
import type { Machine } from "./machine.ts";
import type { Run } from "./witness/bench.ts";
import type { World } from "./world.ts";

const FATES = [
  "done",
  "done",
  "done",
  "done",
  "fails",
  "asks",
  "slow",
  "buries",
  "outlasts",
  "dies",
] as const;
export type Fate = (typeof FATES)[number];
/** How many of `FATES`, from the first on, are what well-behaved handlers do. */
const GOOD = 6;
/** This share of jobs poll: they ask for a retry this many times, each at most so many seconds later. */
const POLLERS = 0.02;
const POLLS = 24;
const POLL_SECONDS = 10;

/** Decides how each run of a job goes, by the seed, the job, and how often the job has run. */
export function fatesOf(world: World): (id: string) => Fate {
  const runs = new Map<string, number>();
  return (id) => {
    const run = (runs.get(id) ?? 0) + 1;
    runs.set(id, run);
    if (world.isOver) return "done";
    if (run === 1 && world.doomed.has(id)) return "buries";
    // After some runs every job succeeds, so that each history ends.
    if (run > 6 || (world.timeline.now() >= world.plan.calmFrom && run > 2)) return "done";
    const draws = world.draws(`handler ${id} ${run}`);
    return FATES[draws.whole(0, world.plan.badHandlers ? FATES.length - 1 : GOOD - 1)] ?? "done";
  };
}

function runOf({ id, topic, attempt, dueAt, body }: Job): Run {
  return { id, topic, attempt, dueAt: dueAt.getTime(), body: JSON.stringify(body) };
}

export function handlerOf(world: World, fateOf: (id: string) => Fate) {
  const polls = new Map<string, number>();
  const isPolling = (id: string): boolean => {
    if (world.isOver || !world.draws(`polls ${id}`).chance(POLLERS)) return false;
    const count = (polls.get(id) ?? 0) + 1;
    polls.set(id, count);
    return count <= POLLS;
  };
  return async (job: Job, machine: Machine): Promise<void> => {
    // Another job of this invocation may have killed the process.
    if (!machine.alive()) return new Promise(() => {});
    const run = runOf(job);
    world.witness.started(run, machine.clock());
    const stop = world.witness.running(run);
    machine.onDeath(stop);
    const isPoll = isPolling(job.id);
    const drags = world.pace().slow === job.topic;
    const fate = isPoll ? "asks" : drags ? "slow" : fateOf(job.id);
    world.trace(() => `${machine.name} runs ${job.id}, attempt ${job.attempt}: ${fate}`);
    const draws = world.draws(`takes ${job.id} ${job.attempt}`);
    if (fate === "dies") machine.kill();
    const takes = { slow: draws.whole(1000, 50_000), outlasts: 120_000 };
    await machine.timers.wait(fate in takes ? takes[fate as keyof typeof takes] : draws.whole(0, 30));
    if (!machine.alive()) return;
    stop();
    const failsLate = fate === "slow" && !drags && draws.chance(0.5);
    world.witness.ended(run, fate === "done" || (fate === "slow" && !failsLate));
    if (fate === "asks") job.retryIn(draws.whole(0, isPoll ? POLL_SECONDS : 90));
    if (fate === "buries") job.bury("asked for");
    if (fate === "fails" || failsLate) throw new Error("a handler failed");
  };
}
