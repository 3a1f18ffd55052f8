/** A call of the API or of the client, as far as its cost depends on it. */
export type Asked = {
  /** Such as `POST /jobs`. */
  what: string;
  /** Jobs that it names, and how many of them by a key. */
  jobs: number;
  keyed: number;
  /** It has an `Idempotency-Key`. */
  isOnce: boolean;
  /** Its topic has a limit or a window. */
  isHeld: boolean;
  /** Jobs that it names by their ids and whose topics are untracked. */
  untracked: number;
};

/** Statements of one batch. */
const BATCH = 25;
/** How many shards there are, which a process reads once a minute, and the topic's pause, every five seconds. */
const KNOWN = 2;
/** The key's item, the job that it names, a look, and the home; or in place of the last two a transaction. */
const KEYED = 4;
/** The once item, its job where it may be over, and the once item or job again that answers. */
const ONCE = 3;
/** What a limit or a window asks for: what is left of the next minutes, the counters of two, a look, and the home. */
const HELD = 5;
/** Where a job is moved, the once item that must be stored longer is read and changed. */
const PROLONGED = 2;

const batchesOf = ({ jobs }: Asked): number => Math.ceil(jobs / BATCH);
const heldOf = (asked: Asked): number => (asked.isHeld ? HELD * batchesOf(asked) : 0);
const onceOf = ({ isOnce }: Asked): number => (isOnce ? ONCE : 0);

/** Requests to the pool by kind of call. */
const KINDS: readonly (readonly [RegExp, (asked: Asked) => number])[] = [
  [/^POST \/jobs(\/batch)?$/, (asked) => KNOWN + filed(asked) + heldOf(asked) + onceOf(asked)],
  [/^PUT \/topics\/[^/]+\/jobs\//, (asked) => KNOWN + KEYED + PROLONGED + heldOf(asked) + onceOf(asked)],
  // Home, look, home again, and the pause.
  [/^PATCH \/jobs\//, (asked) => 4 + PROLONGED + heldOf(asked)],
  // The home alone. Where its condition does not hold, a lost race is counted.
  [/^DELETE \/jobs\//, () => 1],
  // Homes, looks where there are keys, homes again, and keys. Where an untracked job is soon due, that its cancel came in time.
  [/^POST \/jobs\/cancel$/, (asked) => 4 * batchesOf(asked) + asked.untracked],
  // Each bucket of its reach, and all jobs of a history.
  [/^POST \/jobs\/bulk$/, () => 360],
  // Each day of the dead jobs' retention, twice, and ten jobs.
  [/^POST .*\/redrive$/, () => 72],
  // The pause, claims, and homes where a claim was refused, which may be sent once more.
  [/^POST .*\/receive$/, () => 5],
  // The home, as it ends, its key, and the answer.
  [/^POST .*\/finish$/, () => 4],
  // Home, look or dead entry, home again, key, pause, and the answer.
  [/^POST .*\/(retry|bury)$/, (asked) => 6 + heldOf(asked)],
  [/^POST .*\/extend$/, () => 2],
  // The pause as it was and as it is, until it is as it should be; to whom it is known.
  [/^POST \/topics\/[^/]+\/pause$/, () => 4],
  // The same, and of each shard what is parked. What is let go is counted apart.
  [/^POST \/topics\/[^/]+\/resume$/, () => 16],
  // Shards, cursors, pause, and of each shard what is parked.
  [/^GET \/topics\//, () => 6],
  // EventBridge Scheduler has them.
  [/ \/schedules\//, () => 0],
];

/** A batch of statements, and each keyed job by itself. */
function filed(asked: Asked): number {
  return (asked.keyed < asked.jobs ? batchesOf(asked) : 0) + asked.keyed * (KEYED + PROLONGED);
}

/**
 * How many requests to the pool one call makes at most, when nobody else changes the same jobs, no pause or limit parks them
 * and SQS takes all that is sent.
 */
export function allowanceOf(asked: Asked): number {
  const kind = KINDS.find(([pattern]) => pattern.test(asked.what));
  if (!kind) throw new Error(`nobody has said what ${asked.what} may cost`);
  return kind[1](asked);
}

type Body = { topic?: string; key?: unknown; jobs?: readonly Body[]; ids?: readonly unknown[] };

type About = {
  /** Of a job, by its id. */
  topicOf(id: string): string;
  /** Whether a topic has a limit or a window. */
  isHeld(topic: string): boolean;
  isUntracked(topic: string): boolean;
};

/** A call by its request. */
export function askedBy(
  method: string,
  path: string,
  body: Body,
  isOnce: boolean,
  { topicOf, isHeld, isUntracked }: About,
): Asked {
  const { jobs = [body], ids = [] } = body;
  const [, first, second = ""] = path.split("/");
  const topic = first === "topics" ? second : (jobs[0]?.topic ?? topicOf(second));
  const keyed = jobs.filter(({ key }) => key !== undefined).length;
  return {
    what: `${method} ${path}`,
    jobs: ids.length || jobs.length,
    untracked: ids.filter((id) => isUntracked(topicOf(String(id)))).length,
    keyed,
    isOnce,
    isHeld: isHeld(topic),
  };
}
