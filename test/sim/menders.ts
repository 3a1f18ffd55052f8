import { noterOf } from "./answers.ts";
import { topicsOf } from "./habits.ts";
import type { Api } from "./platform.ts";
import { UNWANTED } from "./topics.ts";
import type { World } from "./world.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** Within this time a sweep records that a job is dead because SQS refuses its message. ms. */
const DEAD_AFTER = 4 * MINUTE;
/** A call takes a few round trips, so two calls that begin at most this many ms apart overlap. */
const APART = 60;
/** In this share of the histories whose users compete for one key, somebody redrives the key's dead job. */
const SHARE = 0.5;
/** A redrive reads each day of the dead jobs' retention twice: it counts as this many requests more. */
export const REDRIVE_STEPS = 12;

/** Dismisses a job, and tells the witness whether the job is cancelled: then it must never run. */
export async function dismiss(world: World, api: Api, topic: string, id: string, query = ""): Promise<void> {
  const { witness, counts } = world;
  counts.requests += REDRIVE_STEPS;
  const over = witness.cancelAsked(id);
  const answer = await api("POST", `/topics/${topic}/dismiss${query}`, { ids: [id] });
  over();
  if (answer?.body.dismissed === 1) witness.cancelled({ id });
}

/** A user redrives a dead keyed job while another replaces it, and perhaps a third dismisses it. By chance these calls meet in fewer than one of 3,000 histories. */
export function menders(world: World, api: Api, topic: string, key: string): void {
  const { timeline } = world;
  const draws = world.draws("menders");
  const time = timeline.now() + draws.next() * world.stretch.span * 0.5;
  if (!draws.chance(SHARE)) return;
  const note = noterOf(world, topic);
  const spread = topicsOf(world.habit)[topic]?.spread ?? 0;

  const put = async (wish: { body: object; delay: number }): Promise<string | undefined> => {
    const sentAt = timeline.now();
    const answer = await api("PUT", `/topics/${topic}/jobs/${key}`, wish);
    return note(answer, wish, sentAt, { changed: true, spread })?.id;
  };
  const mend = async (): Promise<void> => {
    const id = await put({ body: { mended: 0, text: UNWANTED }, delay: 0 });
    await timeline.wait(DEAD_AFTER);
    world.counts.requests += REDRIVE_STEPS;
    const redrive = api("POST", `/topics/${topic}/redrive`, { ids: [id ?? ""], delay: 10 * 60 });
    // Draws of its own, so that the other histories of a seed stay as they are.
    const own = world.draws("dismissal");
    const dismissal = own.chance(SHARE) ? timeline.wait(own.whole(0, APART)) : undefined;
    const dismissed = dismissal?.then(() => dismiss(world, api, topic, id ?? ""));
    await timeline.wait(draws.whole(0, APART));
    const replaced = put({ body: { mended: 1 }, delay: draws.pick([0, 60, 600]) });
    await Promise.all([redrive, replaced, dismissed]);
  };
  world.join(time, mend);
}
