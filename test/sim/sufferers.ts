import { batchNoterOf, noterOf } from "./answers.ts";
import { deal } from "./clerks.ts";
import { topicsOf } from "./habits.ts";
import { REDRIVE_STEPS } from "./menders.ts";
import type { Answer, Api } from "./platform.ts";
import { TOPICS, UNTRACKED } from "./topics.ts";
import type { Told } from "./witness.ts";
import { UNWANTED, type World } from "./world.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const TRACKED = Object.keys(TOPICS).filter((topic) => !UNTRACKED.has(topic));
/** Within this time a sweep records that a job is dead because SQS refuses its message. ms. */
const DEAD_AFTER = 5 * MINUTE;
const ROUNDS = 3;
/** Seconds: each job lies in a bucket of its own. */
const APART = 70;

/**
 * A user who does, while requests of one kind fail, just what needs these requests. By chance users and such faults rarely meet. Answers
 * a function that tells whether the user has finished.
 */
export function sufferers(
  world: World,
  api: Api,
  { suppressed, span }: { suppressed: ReadonlySet<string>; span: number },
): () => boolean {
  const { timeline, plan } = world;
  const spell = plan.spells.find(({ kind }) => kind === "requests-fail");
  const draws = world.draws("sufferers");
  if (!spell || !draws.chance(0.8) || suppressed.has("sufferer:1")) return () => true;
  // In histories of weeks the policy spreads the faults over days.
  if (span > 30 * MINUTE) return () => true;
  const topic = draws.pick(TRACKED);
  let isOver = false;

  // Not from `world.policy`, because a deployment may have removed the topic for a while.
  const spreadOf = (name: string): number => topicsOf(world.habit)[name]?.spread ?? 0;
  const note = noterOf(world, topic);
  const file = async (jobs: readonly { topic: string; delay: number; body: object }[]) => {
    const sentAt = timeline.now();
    const spread = Math.max(...jobs.map((job) => spreadOf(job.topic)));
    const answer = await api("POST", "/jobs/batch", { jobs });
    return batchNoterOf(note, jobs, spread)(answer, undefined, sentAt)?.flatMap(({ job }) => job ?? []) ?? [];
  };
  const put = async (wish: { body: object; delay: number }): Promise<Told | undefined> => {
    const sentAt = timeline.now();
    const answer = await api("PUT", `/topics/${topic}/jobs/suffered`, wish);
    return note(answer, wish, sentAt, { changed: true, spread: spreadOf(topic) });
  };
  const patch = async (id: string, dueAt: string): Promise<void> => {
    const sentAt = timeline.now();
    const answer: Answer | undefined = await api("PATCH", `/jobs/${id}`, { dueAt });
    note(answer, { dueAt }, sentAt, { changed: true });
  };

  const acts: Partial<Record<typeof spell.requests.name, () => Promise<void>>> = {
    // Files jobs of several topics in one call.
    "pauses are not read": () =>
      rounds(30 * SECOND, async () => {
        await file(TRACKED.map((one) => ({ topic: one, delay: 5, body: { suffered: one } })));
      }),
    // Moves jobs of several buckets to one time.
    "homes are not read": async () => {
      const told = await file(spaced(5 * 60));
      const dueAt = new Date(timeline.now() + 4 * MINUTE).toISOString();
      await Promise.all(told.map(({ id }) => patch(id, dueAt)));
    },
    // Files so many jobs of one minute that they take several pages.
    "later pages are not read": () =>
      rounds(2 * MINUTE, async () => {
        const jobs = Array.from({ length: 20 }, (_, n) => ({ topic, delay: 300, body: { suffered: n } }));
        await file(jobs);
      }),
    "buckets are not written": () =>
      rounds(MINUTE, async () => {
        await file(spaced(8 * 60));
        const far = await put({ body: { suffered: 1 }, delay: 8 * 60 });
        await deal(world, api, draws, topic);
        if (!far) return;
        const over = world.witness.cancelAsked(far.id);
        const answer = await api("DELETE", `/jobs/${far.id}`);
        over();
        if (answer?.status === 200) world.witness.cancelled(answer.body as unknown as Told);
      }),
    "keys are not written": () =>
      rounds(MINUTE, async () => {
        await put({ body: { suffered: 1 }, delay: 0 });
      }),
    // A job dies, and is redriven.
    "dead entries are not written": () =>
      rounds(0, async () => {
        const told = await put({ body: { suffered: 1, text: UNWANTED }, delay: 0 });
        await timeline.wait(DEAD_AFTER);
        world.requests += REDRIVE_STEPS;
        if (told) await api("POST", `/topics/${topic}/redrive`, { ids: [told.id], delay: 0 });
      }),
    // A job dies, its key gets another job, and somebody uses SQS's own redrive.
    "letters are not sent": () =>
      rounds(0, async () => {
        await put({ body: { suffered: 1, text: UNWANTED }, delay: 0 });
        await timeline.wait(DEAD_AFTER);
        await put({ body: { suffered: 2 }, delay: 60 });
        for (let i = 0; i < 4; i++) {
          world.sqs.redrive(topic);
          await timeline.wait(20 * SECOND);
        }
      }),
  };
  const act = acts[spell.requests.name];
  if (act)
    timeline.at(
      spell.from,
      () =>
        void act().then(() => {
          isOver = true;
        }),
    );
  return () => isOver || !act;

  function spaced(from: number) {
    return Array.from({ length: 5 }, (_, n) => ({ topic, delay: from + n * APART, body: { suffered: n } }));
  }
  async function rounds(pause: number, play: () => Promise<void>): Promise<void> {
    for (let i = 0; i < ROUNDS; i++) {
      await play();
      await timeline.wait(draws.next() * pause);
    }
  }
}
