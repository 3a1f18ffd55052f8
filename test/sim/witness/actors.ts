import { isDeepStrictEqual } from "node:util";
import type { Actor } from "../../../src/core/actor.ts";
import { type Home, isFinished } from "../../../src/core/home.ts";
import { timelineOf } from "../../../src/core/timeline.ts";
import type { Policy } from "../../../src/settings/policy.ts";
import type { Answer } from "../platform.ts";
import type { Request } from "../requests.ts";
import type { Court } from "./bench.ts";
import type { KnownJobs } from "./known-jobs.ts";

/** A call that changes jobs. `at`: when it was sent, ms since the epoch. `hasChanged`: whether it has changed a job. */
type Asked = Request & { at: number; hasChanged: boolean; wantedAt?: number };
type Settings = Court & { topics: Policy["topics"]; jobs: KnownJobs };

const MOVERS: ReadonlySet<Request["kind"]> = new Set(["file", "move", "redrive"]);

/** Judges who changed a job, as its timeline says: the callers' reasons, `If-Match`, and the time that a redrive asked for. */
export function actorsOf(settings: Settings) {
  const { clock, violate, jobs } = settings;
  const placed = new Map<string, Asked[]>();
  return {
    /** Answers a callback for the answer. */
    asked(request: Request): (answer: Answer | undefined) => void {
      const asked: Asked = { ...request, at: clock(), hasChanged: false };
      for (const { place } of request.wishes) {
        const others = placed.get(place) ?? [];
        placed.set(place, others);
        others.push(asked);
      }
      const mates = request.wishes.flatMap(({ place }) => placed.get(place) ?? []);
      return (answer) => {
        if (answer?.body.code !== "changed-meanwhile") return;
        const [first = "", second] = request.seen?.split(".") ?? [];
        const [id, revision] =
          second === undefined ? [request.wishes[0]?.place ?? "", first] : [first, second];
        const home = jobs.homeOf(id);
        // The tag may be of a job that has taken the key, and not of the job that the call names.
        const isOther =
          answer.body.id !== id || (home && (home.revision > Number(revision) || isFinished(home)));
        if (!isOther) violate("If-Match", id, `refused although it is as seen: ${request.seen}`);
        const isDone = mates.some(({ reason, hasChanged }) => hasChanged && reason === request.reason);
        if (isDone) violate("If-Match", id, `changed by a call that was refused: ${request.reason}`);
      };
    },
    written(before: Home, after: Home): void {
      const isMoved = after.revision !== before.revision && !isDeepStrictEqual(before.log, after.log);
      const isCancelled = after.state === "cancelled" && before.state !== "cancelled";
      if (!isMoved && !isCancelled) return;
      const { id, topic, key } = after;
      const asked = [id, `${topic}#${key}`, topic].flatMap((place) => placed.get(place) ?? []);
      judge(settings, asked, before, after);
    },
  };
}

function judge({ topics, violate, ...court }: Settings, asked: readonly Asked[], before: Home, after: Home) {
  const { what, by } = timelineOf(after).at(-1) ?? {};
  const wrong = (why: string): void =>
    violate("timeline", after.id, `${what} by ${JSON.stringify(by)}: ${why}`);
  if (what === "retried") return by && wrong("a retry is nobody's move");
  if (by?.kind !== "caller") return isKind(topics, asked, by, before) || wrong("it was somebody else");
  const mine = asked.filter((call) => call.reason === by.reason && isSuch(call, before, after));
  if (mine.length === 0) return wrong("no such caller has asked for it");
  const seen = mine.filter((call) => isAsSeen(call, before));
  if (seen.length === 0)
    violate(
      "If-Match",
      after.id,
      `revision ${before.revision} changed by a caller that saw ${mine[0]?.seen}`,
    );
  for (const call of mine) call.hasChanged = true;
  const [first] = mine;
  const late = by.reason !== undefined && first?.kind === "redrive" && wrongTime(court, first, after);
  if (late) violate("late", after.id, late);
}

/** Whether another actor than a caller can have made the change. */
function isKind(
  topics: Policy["topics"],
  asked: readonly Asked[],
  by: Actor | undefined,
  { topic, state }: Home,
): boolean {
  if (by?.kind === "event") return topics[topic]?.cancelledByEvents === true;
  if (by?.kind === "topic") return topics[topic]?.ifLate?.do === "skip";
  if (by?.kind === "bulk") return asked.some(({ kind, reason }) => kind === "bulk" && reason === by.reason);
  return by?.kind === "sqs" && state === "dead";
}

function isSuch({ kind, wishes }: Asked, before: Home, after: Home): boolean {
  if (after.state === "cancelled") return kind === "cancel";
  const isRedriven = before.state === "dead";
  if (!MOVERS.has(kind) || isRedriven !== (kind === "redrive")) return false;
  return wishes.some(({ body = before.body }) => body === after.body);
}

function isAsSeen({ seen }: Asked, { id, revision }: Home): boolean {
  return seen === undefined || seen === `${revision}` || seen === `${id}.${revision}`;
}

/** Says what is wrong with the time for which a redrive asked. All jobs of one call have the same. */
function wrongTime(
  { clock, skew }: Pick<Court, "clock" | "skew">,
  call: Asked,
  { wantedAt, dueAt, askedLate }: Home,
): string | undefined {
  const isLate = askedLate === true;
  if (isLate !== wantedAt < dueAt) return `asked for ${wantedAt}, due at ${dueAt}, late: ${isLate}`;
  if (call.delay === 0) return isLate ? "late, but no time was asked for" : undefined;
  const earliest = call.at + call.delay * 1000 - skew;
  if (wantedAt < earliest || wantedAt > clock() + call.delay * 1000 + skew)
    return `redriven for ${wantedAt}, asked for ${earliest} or later`;
  call.wantedAt ??= wantedAt;
  return wantedAt === call.wantedAt ? undefined : `redriven for ${wantedAt} and ${call.wantedAt} by one call`;
}
