import type { Home } from "../../../src/core/home.ts";
import type { Policy } from "../../../src/settings/policy.ts";
import type { Answer } from "../platform.ts";
import type { Request, Wish } from "../requests.ts";
import type { Bench } from "./bench.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** The most ms from the begin of a call until its process has read the clock, which decides in which minute its jobs count. */
const LOOKED = 2 * SECOND;

type Settings = Bench & {
  topics: Policy["topics"];
  /** Whether all calls are answered and no count is lost, so that a topic refuses a job only if it is full. */
  isCalm: boolean;
  isOver: (id: string) => boolean;
};

/** The jobs that callers ask to file with one body: when each call began, and when each job was stored. ms since the epoch. */
type Asked = { calls: number[]; refused: number; homes: Map<string, number> };
/** What the judge knows of a topic with a limit. `asked`: when a call asked for each job. `filed`: how many jobs surely count in each minute. */
type Limited = { most: number; asked: number[]; filed: Map<number, number>; bodies: Map<string, Asked> };
type Result = { status?: number; retryAfter?: number; error?: { retryAfter?: number } };

/** Judges `maxFiledPerMinute`: how many jobs a minute has, and what a refused call did. */
export function filingsOf(settings: Settings) {
  const { clock, topics } = settings;
  const limited = new Map<string, Limited>();
  for (const [topic, { maxFiledPerMinute: most }] of Object.entries(topics))
    if (most !== undefined) limited.set(topic, { most, asked: [], filed: new Map(), bodies: new Map() });
  return {
    /** A caller asks to file jobs now. Answers a callback for the answer. */
    asked({ wishes, token }: Request): (answer: Answer | undefined) => void {
      const [at, noted] = [clock(), wishes.map((wish) => note(limited.get(wish.topic), wish, clock()))];
      return (answer) => {
        for (const [i, result] of resultsOf(answer, wishes.length).entries())
          if (result.status === 429) judgeRefusal(settings, noted[i], result, { at, token });
      };
    },
    /** A job is stored. Jobs of events and schedules have bodies for which no caller has asked, and do not count. */
    created({ id, topic, body }: Home): void {
      const known = limited.get(topic);
      const asked = known?.bodies.get(body);
      if (!known || !asked) return;
      asked.homes.set(id, clock());
      judgeCount(settings, known, asked, id);
      judgeBody(settings, asked, id);
    },
  };
}

type Noted = { known: Limited; asked: Asked };

function note(known: Limited | undefined, { body = "" }: Wish, now: number): Noted | undefined {
  if (!known) return undefined;
  const asked: Asked = known.bodies.get(body) ?? { calls: [], refused: 0, homes: new Map() };
  known.bodies.set(body, asked);
  known.asked.push(now);
  asked.calls.push(now);
  return { known, asked };
}

function resultsOf(answer: Answer | undefined, jobs: number): readonly Result[] {
  if (!answer) return [];
  if (Array.isArray(answer.body.results)) return answer.body.results as Result[];
  return Array<Result>(jobs).fill({ ...answer.body, status: answer.status });
}

/** A job counts in the minute in which its call began, however late it is stored. Near a minute's end, clocks may disagree about the minute. */
function judgeCount(
  { skew, broken }: Settings,
  { most, filed }: Limited,
  { calls }: Asked,
  id: string,
): void {
  const minutes = new Set(calls.flatMap((at) => [minuteOf(at - skew), minuteOf(at + LOOKED + skew)]));
  const [minute = 0] = minutes;
  if (minutes.size > 1) return;
  const count = (filed.get(minute) ?? 0) + 1;
  filed.set(minute, count);
  if (count > most) broken(id, `${count} jobs in the minute ${minute}, which may have ${most}`);
}

function judgeBody({ broken }: Settings, { calls, refused, homes }: Asked, id: string): void {
  if (homes.size > calls.length - refused)
    broken(id, `${homes.size} jobs of ${calls.length} calls, of which ${refused} were refused`);
}

type Call = { at: number; token: string | undefined };

function judgeRefusal(settings: Settings, noted: Noted | undefined, result: Result, call: Call): void {
  const { clock, skew, broken, isCalm, isOver } = settings;
  if (!noted) {
    broken("", "a topic without a limit refused a job");
    return;
  }
  const { known, asked } = noted;
  asked.refused += 1;
  const [id = ""] = asked.homes.keys();
  judgeBody(settings, asked, id);
  const own = [...asked.homes].find(([one, time]) => time < call.at && !isOver(one));
  if (call.token !== undefined && own) broken(own[0], "filed by a call whose repeat was refused");
  const sent = known.asked.filter((time) => time >= minuteOf(call.at) - LOOKED).length;
  if (isCalm && sent < known.most) broken("", `a job refused after ${sent} of ${known.most}`);
  const { retryAfter = result.error?.retryAfter ?? 0 } = result;
  const next = minuteOf(clock() + skew + retryAfter * SECOND);
  if (retryAfter < 1 || retryAfter > 60 || next < call.at - skew + (retryAfter - 1) * SECOND)
    broken("", `asked to wait ${retryAfter} s, which is not when a minute begins`);
}

function minuteOf(time: number): number {
  return Math.floor(time / MINUTE) * MINUTE;
}
