import { eventsOn } from "../../src/consumer/apply-events.ts";
import type { EventRule } from "../../src/settings/event-rules.ts";
import type { Draws } from "./draws.ts";
import { pollQueue } from "./platform.ts";
import { NO_TROUBLE } from "./services/service.ts";
import { EVENTS_QUEUE } from "./topics.ts";
import { BOUNDS } from "./user.ts";
import { EVENT } from "./witness/event-jobs.ts";
import type { SentEvent } from "./witness/keyed-jobs.ts";
import type { World } from "./world.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const SOURCE = "shop";
/** For so many seconds, an event also cancels jobs that are filed after it. */
const TOMBSTONES = [0, 20, 300, 900];
const DELAYS = [0, 5, 60, 300];
const AGAIN = [0, SECOND, 20 * SECOND, 8 * MINUTE];
/** The unit, in ms, of the time between two events: they are 1 to 9 units apart. */
const APART = [10, SECOND, 10 * SECOND];
/** ms by which an event is delivered late, so that later events overtake it. */
const LATE = [0, 0, 0, SECOND, 20 * SECOND, 3 * MINUTE];

/** At most so many ms after a job is due an event happens, and at most so many ms after that event the next one. */
const RUNS_SINCE = [100, SECOND, 20 * SECOND];

/** The share of events that cancel jobs: each history has one of these shares. The other events file jobs. */
const CANCELS = [0.7, 0.2];

export type Bus = {
  /** Lets event `n` happen shortly before or after a user files or replaces a key's job. Resolves when the user is to do so. */
  around(n: string, key: string): Promise<void>;
  /** Sometimes an event cancels a job's key just after `dueAt` (ms since the epoch), and soon after it another event files a job. */
  whileItRuns(n: string, key: string, dueAt: number): void;
  through(): boolean;
};

/** `sent`: the events that were put on the bus. `planned`: how many deliveries are still to come. */
type Traffic = { world: World; sent: Map<string, SentEvent>; planned: number };
type Rules = ReturnType<typeof rulesOf>;

export function busOf(world: World): Bus {
  const rules = rulesOf(world.draws("rules"), world.habit.topic);
  const cancels = world.draws("which events").pick(CANCELS);
  const traffic: Traffic = { world, sent: new Map(), planned: 0 };
  pollEvents(traffic, rules);
  return {
    around: (n, key) => happenAround(traffic, rules, cancels, { n, key }),
    whileItRuns: (n, key, dueAt) => happenWhileItRuns(traffic, rules, { n, key, dueAt }),
    through: () => traffic.planned === 0 && world.sqs.messages(EVENTS_QUEUE).length === 0,
  };
}

function pollEvents({ world, sent }: Traffic, rules: Rules): void {
  pollQueue(world, EVENTS_QUEUE, {
    name: "event",
    build: (ctx) => eventsOn(ctx, Object.values(rules), () => {}),
    invoked(messages) {
      const begun = messages.flatMap((message) => {
        const event = sent.get((JSON.parse(message.Body) as { id: string }).id);
        return event ? [{ message, ended: world.witness.tombstones.began(event) }] : [];
      });
      return (done) => {
        for (const { message, ended } of begun) ended(done.includes(message));
      };
    },
  });
}

function put(traffic: Traffic, event: SentEvent): void {
  const { world, sent } = traffic;
  traffic.planned -= 1;
  const { id, at, key, rule } = event;
  sent.set(id, event);
  const body = JSON.stringify({
    id,
    source: SOURCE,
    "detail-type": rule.detailType,
    time: new Date(at).toISOString(),
    detail: { order: key, [EVENT]: id },
  });
  world.trace(() => `event ${body}`);
  const Entries = [{ Id: id, MessageBody: body }];
  world.sqs.perform("SendMessageBatch", { QueueUrl: EVENTS_QUEUE, Entries }, NO_TROUBLE);
}

/** How often each event is delivered, and how late: ms. */
type Delivery = { late: () => number; again: Draws; times: number };

function tell(
  traffic: Traffic,
  n: string,
  events: readonly SentEvent[],
  { late, again, times }: Delivery,
): void {
  const { world } = traffic;
  for (const event of world.isLeftOut(`event:${n}`) ? [] : events) {
    const told = event.at + late();
    for (let i = 0, next = told; i < times; i++, next += again.pick(AGAIN)) {
      traffic.planned += 1;
      world.timeline.at(next, () => put(traffic, event));
    }
  }
}

async function happenAround(
  traffic: Traffic,
  rules: Rules,
  cancels: number,
  { n, key }: { n: string; key: string },
): Promise<void> {
  const { timeline, draws: drawsFor } = traffic.world;
  const draws = drawsFor(`event ${n}`);
  if (draws.chance(0.2)) return;
  const near = draws.whole(-30, 30);
  const offset = draws.pick([near, near, near, -draws.next() * MINUTE, draws.next() * 4 * MINUTE]);
  const at = Math.round(timeline.now() + Math.max(offset, 0));
  const rule = draws.chance(cancels) ? rules.cancels : rules.files;
  const times = draws.chance(0.4) ? draws.whole(2, 3) : 1;
  const own = drawsFor(`more events ${n}`);
  const events = [{ id: `event-${n}`, at, key, rule }];
  // A second event does the opposite shortly after. The job may have begun to run between them.
  const other = rule === rules.cancels ? rules.files : rules.cancels;
  if (own.chance(0.4))
    events.push({ id: `event-${n}-2`, at: at + own.whole(1, 9) * own.pick(APART), key, rule: other });
  tell(traffic, n, events, { late: () => own.pick(LATE), again: draws, times });
  if (offset < 0) await timeline.wait(-offset);
}

function happenWhileItRuns(
  traffic: Traffic,
  rules: Rules,
  { n, key, dueAt }: { n: string; key: string; dueAt: number },
): void {
  const draws = traffic.world.draws(`events while ${n} runs`);
  if (draws.chance(0.6)) return;
  const first = dueAt + draws.whole(0, draws.pick(RUNS_SINCE));
  const second = first + draws.whole(1, draws.pick(RUNS_SINCE));
  const events = [
    { id: `event-${n}-while`, at: first, key, rule: rules.cancels },
    { id: `event-${n}-then`, at: second, key, rule: rules.files },
  ];
  tell(traffic, n, events, { late: () => 0, again: draws, times: 1 });
}

/** The topic's two rules: a `Paid` event cancels the key's job, and a `Placed` event files one. */
function rulesOf(draws: Draws, topic: string): { cancels: EventRule; files: EventRule } {
  const matched = { topic, source: SOURCE, key: "$.detail.order" };
  const tombstone = draws.pick(TOMBSTONES);
  const onDuplicate = draws.pick(["keep", "keep", "replace", "postpone"] as const);
  return {
    cancels: { ...matched, do: "cancel", detailType: "Paid", tombstone },
    files: {
      ...matched,
      do: "enqueue",
      detailType: "Placed",
      delay: draws.pick(DELAYS),
      body: "$.detail",
      onDuplicate,
      ...(onDuplicate === "postpone" && { maxDelay: draws.pick(BOUNDS) }),
    },
  };
}
