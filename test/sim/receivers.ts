import type { Call, Post, Reply } from "../../src/consumer/webhook/call.ts";
import type { Draws } from "./draws.ts";
import type { Fate, fatesOf } from "./handlers.ts";
import type { Machine } from "./machine.ts";
import type { Run } from "./witness/bench.ts";
import type { World } from "./world.ts";

/** The length of a job id. In a `webhook-id`, the text after the job id tells redrives apart. */
const ID_CHARS = 26;

export function receiversOf(world: World, fateOf: ReturnType<typeof fatesOf>) {
  return (machine: Machine): Post =>
    async (call, signal) => {
      if (!machine.alive()) return new Promise(() => {});
      const run = runOf(world, call);
      world.witness.started(run, machine.clock());
      world.witness.called(run.id, call);
      const stop = world.witness.running(run);
      machine.onDeath(stop);
      const fate = fateOf(run.id);
      world.trace(() => `${machine.name} calls ${call.url} for ${run.id}, attempt ${run.attempt}: ${fate}`);
      try {
        return await answerTo({ world, machine, run, fate }, call, signal);
      } finally {
        stop();
      }
    };
}

type Received = { world: World; machine: Machine; run: Run; fate: Fate };

async function answerTo(
  { world, machine, run, fate }: Received,
  { policy }: Call,
  signal: AbortSignal,
): Promise<Reply> {
  const draws = world.draws(`takes ${run.id} ${run.attempt}`);
  const timeout = policy.timeout * 1000;
  const takes = fate === "slow" ? draws.whole(0, timeout) : draws.whole(1, 200);
  const [status, retryAfter] = replyOf(fate, draws);
  const silent = fate === "outlasts" || takes >= timeout;
  await machine.timers.wait(silent ? timeout : takes);
  // Even if the answer gets lost, the receiver has decided whether the job is done.
  world.witness.ended(run, !silent && status < 300);
  if (fate === "dies") {
    machine.kill();
    return new Promise(() => {});
  }
  if (signal.aborted || silent) throw new Error("no whole answer came");
  return { status, body: "simulated", ...(retryAfter === undefined ? {} : { retryAfter }) };
}

function replyOf(fate: Fate, draws: Draws): [status: number, retryAfter?: string] {
  if (fate === "fails") return [draws.pick([500, 302, 404, 503])];
  if (fate === "asks") return [429, String(draws.whole(0, 90))];
  return [fate === "buries" ? 410 : draws.pick([200, 204])];
}

/** A call names its job, but not when the job is due: only the pool knows that. */
function runOf(world: World, { headers, body }: Call): Run {
  const id = (headers["webhook-id"] ?? "").slice(0, ID_CHARS);
  const topic = headers["minutehand-topic"] ?? "";
  const attempt = Number(headers["minutehand-attempt"]);
  return { id, topic, attempt, dueAt: world.witness.dueAt(id), body };
}
