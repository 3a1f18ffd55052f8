import { parseMessage } from "../../src/core/message.ts";
import type { Draws } from "./draws.ts";
import type { Blow } from "./faults/blows.ts";
import { crowdedTopic, toldTopic } from "./habits.ts";
import type { Message } from "./services/sqs.ts";
import { TOPICS } from "./topics.ts";
import type { World } from "./world.ts";

const SECOND = 1000;

export function strikeBlow(world: World, { kind, key }: Blow, tick: () => void): void {
  const { sqs, timeline } = world;
  const draws = world.draws(key);
  const topic = victimOf(world, draws);
  const message = () => pickMessage(draws, sqs.messages(topic));
  world.trace(() => `BLOW ${kind} (${topic})`);
  switch (kind) {
    case "purge":
      destroy(world, topic, sqs.messages(topic));
      return;
    case "lose-message": {
      const lost = message();
      if (lost) destroy(world, topic, [lost]);
      return;
    }
    case "duplicate-message": {
      const again = message();
      if (again) sqs.duplicate(topic, again);
      return;
    }
    case "native-redrive":
      sqs.redrive(topic);
      return;
    case "kill":
    case "freeze-machine":
      strikeMachine(world, kind, draws);
      return;
    case "double-tick":
      tick();
      timeline.at(timeline.now() + draws.whole(0, 3000), tick);
      return;
    case "ttl":
      world.dynamo.expire(timeline.now());
      return;
    case "more-shards":
      world.policy = { ...world.policy, shards: 2 * world.stretch.shards };
  }
}

function pickMessage(draws: Draws, waiting: readonly Message[]): Message | undefined {
  return waiting.length > 0 ? draws.pick(waiting) : undefined;
}

/** Half of the blows strike the crowded topic or the topic with the additional setting: otherwise they would rarely strike it. */
function victimOf(world: World, draws: Draws): string {
  const drawn = draws.pick(Object.keys(TOPICS));
  return (draws.chance(0.5) ? (crowdedTopic(world.seed) ?? toldTopic(world.habit)) : undefined) ?? drawn;
}

function strikeMachine(world: World, kind: "kill" | "freeze-machine", draws: Draws): void {
  const machines = [...world.machines];
  if (machines.length === 0) return;
  const victim = draws.pick(machines);
  world.trace(() => `BLOW ${kind} strikes ${victim.name}`);
  if (kind === "kill") victim.kill();
  else victim.freeze(draws.next() * draws.pick([10 * SECOND, 80 * SECOND, 170 * SECOND]));
}

export /** Whether a dead job's envelope is in its DLQ, or still in the ready queue to which SQS's own redrive has moved it. */
function isLetterThere(
  { sqs }: World,
  { topic, id, revision }: { topic: string; id: string; revision: number },
): boolean {
  return [...sqs.messages(`${topic}_dlq`), ...sqs.messages(topic)].some(({ body }) => {
    const message = parseMessage(body);
    return message?.dead && message.jobs.some((job) => job.id === id && job.revision === revision);
  });
}

/** Deletes messages of a ready queue. Dead letters may be among them, and no code can restore those. */
function destroy(world: World, topic: string, messages: readonly Message[]): void {
  const { sqs, witness } = world;
  for (const message of [...messages]) {
    sqs.lose(topic, message);
    const parsed = parseMessage(message.body);
    for (const { id, revision } of parsed?.dead ? parsed.jobs : [])
      if (!isLetterThere(world, { topic, id, revision })) witness.destroyed(id, revision);
  }
}
