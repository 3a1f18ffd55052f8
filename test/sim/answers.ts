import type { Answer } from "./platform.ts";
import { UNTRACKED } from "./topics.ts";
import type { Asked, Told } from "./witness.ts";
import type { World } from "./world.ts";

const SECOND = 1000;

/** What a request says of a job. */
export type Wish = { delay?: number; dueAt?: string; body?: unknown; spread?: number; maxDelay?: number };

/** Outcomes that give a job what its request said. */
const GRANTED = new Set(["created", "replaced", "postponed"]);

/** Between which times a request's clock was looked at, in ms, and how many seconds later a job may be due. */
type Looked = { from: number; to: number; spread: number };

/** When a job may be due by a request. */
function askedBy({ delay, dueAt, body, maxDelay }: Wish, { from, to, spread }: Looked): Asked {
  const later = spread * SECOND;
  const time = dueAt === undefined ? undefined : Date.parse(dueAt);
  return {
    body,
    ...(delay !== undefined && { from: from + delay * SECOND, to: to + delay * SECOND + later }),
    ...(time !== undefined && { from: Math.max(time, from), to: Math.max(time, to) + later }),
    ...(maxDelay !== undefined && { postponing: { maxDelay: maxDelay * SECOND, from, to } }),
  };
}

/** Tells the witness what answers to requests about one topic promise. `changed`: it is no other's job, kept or found again. */
export function noterOf(world: World, topic: string) {
  const { timeline, witness } = world;
  return (
    answer: Answer | undefined,
    wish: Wish,
    sentAt: number,
    {
      changed,
      request,
      spread = 0,
      hasToken,
    }: { changed: boolean; request?: string | undefined; spread?: number; hasToken?: boolean },
  ): Told | undefined => {
    if (!answer || answer.status >= 300) return undefined;
    const told = answer.body as unknown as Told;
    witness.acknowledged(told, request);
    const granted = told.outcome === undefined ? changed : GRANTED.has(told.outcome);
    const looked = { from: sentAt - world.plan.skew, to: timeline.now() + world.plan.skew, spread };
    if (granted) witness.granted(told, askedBy(wish, looked), hasToken);
    if (!UNTRACKED.has(topic) && told.state === "scheduled") witness.moved(told);
    return told;
  };
}
