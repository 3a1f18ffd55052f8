import { LEAST_RETENTION } from "../../core/constants.ts";
import { batchNoterOf, noterOf } from "./answers.ts";
import { deal } from "./clerks.ts";
import { topicsOf } from "./habits.ts";
import { REDRIVE_STEPS } from "./menders.ts";
import type { Answer, Api } from "./platform.ts";
import { LIMITED, TOPICS, UNTRACKED } from "./topics.ts";
import type { Told } from "./witness/bench.ts";
import { UNWANTED, type World } from "./world.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const TRACKED = Object.keys(TOPICS).filter((topic) => !UNTRACKED.has(topic));
/** Topics without a limit, whose jobs run soon. */
const PROMPT = TRACKED.filter((topic) => !LIMITED.has(topic));
/** Seconds: the next sweep sends the job. */
const SWEPT = 215;
const DEAD_AFTER = 10 * SECOND;
const ROUNDS = 4;
const BEFORE = 30 * SECOND;
/** Seconds: each job lies in a bucket of its own. */
const APART = 70;

/** A user who needs just the requests that fail; by chance they rarely meet. */
export function sufferers(world: World, api: Api): void {
  const { timeline, plan } = world;
  const spell = plan.spells.find(({ kind }) => kind === "requests-fail");
  const draws = world.draws("sufferers");
  // In histories of weeks the policy spreads the faults over days.
  if (!spell || world.stretch.isOfWeeks || world.isLeftOut("sufferer:1")) return;
  const topic = draws.pick(PROMPT);

  // Not from `world.policy`, because a deployment may have removed the topic for a while.
  const spreadOf = (name: string): number => topicsOf(world.habit)[name]?.spread ?? 0;
  const note = noterOf(world, topic);
  const file = async (jobs: readonly { topic: string; delay: number; body: object }[], token?: string) => {
    const sentAt = timeline.now();
    const spread = Math.max(...jobs.map((job) => spreadOf(job.topic)));
    const answer = await api("POST", "/jobs/batch", { jobs }, token ? { "idempotency-key": token } : {});
    return batchNoterOf(note, jobs, spread)(answer, token, sentAt)?.flatMap(({ job }) => job ?? []) ?? [];
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

  const acts: Record<string, () => Promise<void>> = {
    // A sweep finds jobs of several topics at once.
    "pauses are not read": () =>
      rounds(MINUTE, () =>
        file(TRACKED.map((one) => ({ topic: one, delay: SWEPT, body: { suffered: one } }))),
      ),
    // Moves jobs of several buckets to one time.
    "homes are not read": () =>
      rounds(MINUTE, async () => {
        const told = await file(spaced(5 * 60));
        const dueAt = new Date(timeline.now() + SWEPT * SECOND).toISOString();
        await Promise.all(told.map(({ id }) => patch(id, dueAt)));
      }),
    // Files so many jobs of one minute that they take several pages.
    "later pages are not read": () => rounds(2 * MINUTE, () => file(several(20, topic, 300))),
    "later receives fail": () => rounds(MINUTE, () => file(several(10, "work", 2))),
    "buckets are not written": async () => {
      await file(spaced(10 * 60));
      const far = await put({ body: { suffered: 1 }, delay: 10 * 60 });
      await timeline.wait(BEFORE);
      await Promise.all([deal(world, api, draws, topic), far && cancel(far.id), insist()]);
    },
    "keys are not written": () => rounds(MINUTE, () => put({ body: { suffered: 1 }, delay: 0 })),
    // A job dies in its handler, and is redriven. Another dies because SQS refuses its text.
    "dead entries are not written": () =>
      rounds(0, async () => {
        const told = await die();
        await timeline.wait(draws.next() * MINUTE);
        world.counts.requests += REDRIVE_STEPS;
        if (told) await api("POST", `/topics/${topic}/redrive`, { ids: [told.id], delay: 60 });
        await file([{ topic, delay: SWEPT, body: { suffered: 1, text: UNWANTED } }]);
        await timeline.wait(MINUTE);
      }),
    // A job dies, its key gets another job, and somebody uses SQS's own redrive.
    "letters are not sent": () =>
      rounds(MINUTE, async () => {
        await die();
        await put({ body: { suffered: 2 }, delay: SWEPT });
        for (let i = 0; i < 4; i++) {
          world.sqs.redrive(topic);
          await timeline.wait(20 * SECOND);
        }
      }),
  };
  const act = acts[spell.requests.name];
  if (act) world.join(Math.max(timeline.now(), spell.from - BEFORE), act);

  async function die(): Promise<Told | undefined> {
    const told = await put({ body: { suffered: 1 }, delay: 2 });
    if (told) world.doomed.add(told.id);
    await timeline.wait(DEAD_AFTER);
    return told;
  }
  async function cancel(id: string): Promise<void> {
    const over = world.witness.cancelAsked(id);
    const answer = await api("DELETE", `/jobs/${id}`);
    over();
    if (answer?.status === 200) world.witness.cancelled(answer.body as unknown as Told);
  }
  async function insist(): Promise<void> {
    // TTL may delete the homes before the calls end.
    if (world.policy.retention * SECOND < LEAST_RETENTION) return;
    const jobs = Array.from({ length: 3 }, (_, n) => ({ topic, delay: 0, body: { insisted: n } }));
    world.witness.repeats.asked(jobs.map(({ body }) => body));
    await rounds(10 * SECOND, () => file(jobs, "sufferer"));
  }
  function several(count: number, of: string, delay: number) {
    return Array.from({ length: count }, (_, n) => ({ topic: of, delay, body: { suffered: n } }));
  }
  function spaced(from: number) {
    return Array.from({ length: 5 }, (_, n) => ({ topic, delay: from + n * APART, body: { suffered: n } }));
  }
  async function rounds(pause: number, play: () => Promise<unknown>): Promise<void> {
    for (let i = 0; i < ROUNDS; i++) {
      await play();
      await timeline.wait(draws.next() * pause);
    }
  }
}
