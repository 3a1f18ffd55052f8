import { DAY } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import { quoted } from "../general/text.ts";
import { parseInstant, secondsIn } from "../general/times.ts";
import type { ForecastJson } from "../http/answers/forecast.ts";
import type { BulkPart, ExportPart } from "../http/answers/many-jobs.ts";
import type { CountPart } from "./answers.ts";
import { type Call, QUOTED, type Query, type Shape } from "./call.ts";
import type { ChangeOptions, CountQuery, ForecastQuery, Instant } from "./options.ts";

type MinuteCount = ForecastJson["minutes"][number];

const HOUR = 3_600_000;
const PART: Shape = { matched: "number", changed: "number", skipped: "object", errors: "array" };

/** `name`: the member of an answer that has the entries. */
export async function* pages<T>(
  call: Call,
  path: string,
  name: string,
  { query, signal }: { query?: Query; signal?: AbortSignal | undefined } = {},
): AsyncGenerator<T, void> {
  type Page = { cursor?: string } & Record<string, T[]>;
  const isNew = unrepeated(path);
  let cursor: string | undefined;
  do {
    const page: Page = await call("GET", path, { [name]: "array" }, { query: { ...query, cursor }, signal });
    yield* page[name] ?? [];
    cursor = isNew(page.cursor);
  } while (cursor !== undefined);
}

/** A minute may lie in the answers to several calls. */
export async function* forecastParts(
  call: Call,
  query: ForecastQuery = {},
): AsyncGenerator<MinuteCount, void> {
  let last: MinuteCount | undefined;
  for await (const { minutes } of forecastAnswers(call, query)) {
    for (const { minute, count } of minutes) {
      if (last !== undefined && last.minute !== minute) yield last;
      last = { minute, count: count + (last?.minute === minute ? last.count : 0) };
    }
  }
  if (last !== undefined) yield last;
}

/** The answers to the calls of one count. Plain JavaScript may leave out `step`, and the API would then count no states. */
export async function* countParts(
  call: Call,
  { step, ...query }: Partial<CountQuery> = {},
): AsyncGenerator<CountPart, void> {
  const seconds = secondsIn(step ?? Number.NaN);
  if (Number.isInteger(seconds) && seconds >= 1 && seconds * 1000 <= DAY) {
    yield* forecastAnswers<CountPart>(call, query, seconds);
    return;
  }
  const got = step === undefined ? "nothing" : JSON.stringify(step);
  const message = `must be whole seconds, from 1 to ${DAY / 1000}, or a text such as "1h", got ${got}`;
  throw new MinutehandError("bad-request", `step ${message}`, { errors: [{ path: "step", message }] });
}

/** The answers to the calls of one forecast, in the order of time. Without `from`, the API begins at the time of its own clock. */
async function* forecastAnswers<Answer extends Partial<CountPart> = ForecastJson>(
  call: Call,
  { topic, from, to, signal }: ForecastQuery,
  step?: number,
): AsyncGenerator<Answer, void> {
  type Part = Answer & { cursor?: string; next?: string };
  const isNew = unrepeated("/forecast");
  const hour = hourFrom(from ?? new Date());
  let place: Query | undefined = { from, to };
  while (place !== undefined) {
    const part: Part = await call(
      "GET",
      "/forecast",
      { minutes: "array" },
      { query: { topic, step, ...place }, signal },
    );
    yield part;
    const cursor = isNew(part.cursor ?? part.next);
    if (cursor === undefined) return;
    // An API of an earlier version answers no cursor, but the time at which the next call begins. Its clock is the machine's.
    place = part.cursor === undefined ? { from: cursor, to: to ?? hour } : { from, to, cursor };
  }
}

/** The end of the hour that begins at `from`. `undefined` if `from` is not a time, so that the API refuses it. */
function hourFrom(from: Instant): Date | undefined {
  const time = typeof from === "string" ? parseInstant(from) : from.getTime();
  return time === undefined || Number.isNaN(time) ? undefined : new Date(time + HOUR);
}

/** The answers to the calls of one export. */
export async function* exportParts<Part extends Pick<ExportPart, "cursor">>(
  call: Call,
  start: string | undefined,
  { query, signal }: { query: Query; signal: AbortSignal | undefined },
): AsyncGenerator<Part, void> {
  const isNew = unrepeated("/jobs/export");
  const shape = { jobs: "array", errors: "array" } as const;
  let cursor = isNew(start);
  do {
    const part: Part = await call("GET", "/jobs/export", shape, { query: { ...query, cursor }, signal });
    // The part's cursor is judged before the caller stores it.
    cursor = isNew(part.cursor);
    yield part;
  } while (cursor !== undefined);
}

/** The counts of a part of a bulk or of an erase. */
type Counts = Pick<BulkPart, "examined" | "matched" | "changed" | "skipped" | "errors" | "cursor">;
type Asked = ChangeOptions & { idempotencyKey?: string | undefined; cursor?: string };

/**
 * Calls all parts of a bulk or of an erase. An error names the cursor of the part that failed, or the Idempotency-Key of the first part, with
 * which a second call continues the same bulk.
 */
export async function changeParts<Part extends Counts>(
  call: Call,
  path: string,
  { cursor: start, idempotencyKey, signal, reason, ...request }: Asked,
  onProgress?: (sums: Part) => void,
): Promise<Part> {
  const isNew = unrepeated(path);
  let sums: Part | undefined;
  let at = isNew(start);
  do {
    const cursor = at === undefined ? {} : { cursor: at };
    const sent = { body: { ...request, ...cursor }, query: { reason }, idempotencyKey, signal };
    try {
      const part = await call<Part>("POST", path, PART, sent);
      at = isNew(part.cursor);
      sums = sums ? sumOf(sums, part) : part;
    } catch (error) {
      const isFirst = at === undefined && idempotencyKey !== undefined;
      if (error instanceof MinutehandError) Object.assign(error.data, isFirst ? { idempotencyKey } : cursor);
      throw error;
    }
    onProgress?.(sums);
  } while (at !== undefined);
  return sums;
}

/** Throws `bad-answer` for a repeated cursor, with which a list would never end. */
function unrepeated(path: string): (cursor: string | undefined) => string | undefined {
  const before = new Set<string>();
  return (cursor) => {
    if (cursor === undefined) return undefined;
    if (before.has(cursor)) {
      const text = `${path} answered the same cursor twice, expected a new cursor or none: ${quoted(cursor, QUOTED)}`;
      throw new MinutehandError("bad-answer", text);
    }
    before.add(cursor);
    return cursor;
  };
}

/** How many errors are told, as in the API's answer to one part. */
const TOLD = 10;

function sumOf<Part extends Counts>(before: Part, part: Part): Part {
  const skipped = { ...before.skipped };
  for (const [code, count] of Object.entries(part.skipped)) skipped[code] = (skipped[code] ?? 0) + count;
  return {
    ...part,
    examined: before.examined + part.examined,
    matched: before.matched + part.matched,
    changed: before.changed + part.changed,
    skipped,
    errors: [...before.errors, ...part.errors].slice(0, TOLD),
  };
}
