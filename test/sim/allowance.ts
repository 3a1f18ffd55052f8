export type Asked = {
  what: string;
  jobs: number;
  keyed: number;
  isOnce: boolean;
  /** Jobs of a batch with an `Idempotency-Key` that have once items of their own: those with a key. */
  alone: number;
  isHeld: boolean;
  isCounted: boolean;
};

const BATCH = 25;
/** Two reads: the number of shards, which a process reads again after a minute, and the topic's pause, after five seconds. */
const KNOWN = 2;
/** The key's item, the job that the key names, a look, and the home. A transaction can replace the last two. */
const KEYED = 4;
/** The once item, its job if the job may have ended, and a second read of the once item or of the job, for the answer. */
const ONCE = 3;
/** A batch's once item: read, written, and read again after a lost race; looks at late jobs. Each batch of statements: its homes. */
const SHARED = { once: 4, batch: 1 };
/** For a limit or a window: a read of the next minutes' counters, bookings in the counters of two minutes, a look, and the home. */
const HELD = 5;
/** If a job is moved, its once item must be stored longer: the item is read and changed. */
const PROLONGED = 2;

const batchesOf = ({ jobs }: Asked): number => Math.ceil(jobs / BATCH);
const heldOf = (asked: Asked): number => (asked.isHeld ? HELD * batchesOf(asked) : 0);
const onceOf = (asked: Asked): number => {
  if (!asked.isOnce) return 0;
  if (asked.jobs === 1) return ONCE;
  return SHARED.once + SHARED.batch * batchesOf(asked) + asked.alone * (ONCE + 1);
};

/** In a topic with `maxFiledPerMinute`: one write counts the jobs, and the once items are read before it. */
const countedOf = (asked: Asked): number => (asked.isCounted ? 1 + (asked.isOnce ? 1 + asked.alone : 0) : 0);

const KINDS: readonly (readonly [RegExp, (asked: Asked) => number])[] = [
  [
    /^POST \/jobs(\/batch)?$/,
    (asked) => KNOWN + filed(asked) + heldOf(asked) + onceOf(asked) + countedOf(asked),
  ],
  [
    /^PUT \/topics\/[^/]+\/jobs\//,
    (asked) => KNOWN + KEYED + PROLONGED + heldOf(asked) + onceOf(asked) + countedOf(asked),
  ],
  // Home, look, home again, and the pause.
  [/^PATCH \/jobs\//, (asked) => 4 + PROLONGED + heldOf(asked)],
  // The home only. If the condition of this write fails, the budget counts a lost race.
  [/^DELETE \/jobs\//, () => 1],
  // Homes, looks of keyed jobs, homes again, and keys.
  [/^POST \/jobs\/cancel$/, (asked) => 4 * batchesOf(asked)],
  // Each bucket of its range, and all jobs of a history.
  [/^POST \/jobs\/bulk$/, () => 360],
  [/^POST \/jobs\/erase$/, () => 2000],
  // Each day of the dead jobs' retention twice, and ten jobs.
  [/^POST .*\/redrive$/, () => 72],
  // As a redrive, without the pause and the looks.
  [/^POST .*\/dismiss$/, () => 72],
  // The pause, claims, and the homes of refused claims, whose jobs may be sent once more.
  [/^POST .*\/receive$/, () => 5],
  // A read of the home, the write that ends the run, a write that frees the key, and a read for the answer.
  [/^POST .*\/finish$/, () => 4],
  // The home, a look or a dead entry, the home again, the key, the pause, and the read for the answer.
  [/^POST .*\/(retry|bury)$/, (asked) => 6 + heldOf(asked)],
  [/^POST .*\/extend$/, () => 2],
  // A read of the pause, the item that tells ticks to read this pause, the write of the pause, and a read that checks the write.
  [/^POST \/topics\/[^/]+\/pause$/, () => 4],
  // The requests of a pause, and reads of the parked jobs of each shard. The budget counts released jobs separately.
  [/^POST \/topics\/[^/]+\/resume$/, () => 16],
  // Reads of the number of shards, the cursors, the pause, and the parked jobs of each shard.
  [/^GET \/topics\//, () => 6],
  // The schedule's item: read, written, read again, and read for the answer. A deletion writes twice. A change of
  // a schedule also reads whether its latest occurrences are filed.
  [/ \/schedules\//, () => 10],
];

function filed(asked: Asked): number {
  return (asked.keyed < asked.jobs ? batchesOf(asked) : 0) + asked.keyed * (KEYED + PROLONGED);
}

export function allowanceOf(asked: Asked): number {
  const kind = KINDS.find(([pattern]) => pattern.test(asked.what));
  if (!kind) throw new Error(`KINDS does not say what ${asked.what} may cost`);
  return kind[1](asked);
}

type Body = { topic?: string; key?: unknown; jobs?: readonly Body[]; ids?: readonly unknown[] };

type About = {
  topicOf(id: string): string;
  isHeld(topic: string): boolean;
  isCounted(topic: string): boolean;
};

export function askedBy(
  method: string,
  path: string,
  body: Body,
  isOnce: boolean,
  { topicOf, isHeld, isCounted }: About,
): Asked {
  const { jobs = [body], ids = [] } = body;
  const [, first, second = ""] = path.split("/");
  const topic = first === "topics" ? second : (jobs[0]?.topic ?? topicOf(second));
  const keyed = jobs.filter(({ key }) => key !== undefined).length;
  return {
    what: `${method} ${path}`,
    jobs: ids.length || jobs.length,
    keyed,
    isOnce,
    alone: keyed,
    isHeld: isHeld(topic),
    isCounted: isCounted(topic),
  };
}
