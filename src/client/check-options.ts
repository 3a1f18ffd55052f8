import { MinutehandError } from "../core/errors.ts";
import { JOB_OPTIONS, OPTION_NAMES } from "../core/job-options.ts";
import { insteadOfMilliseconds } from "../general/times.ts";
import { type Names, unknownNames } from "../general/unknown-names.ts";
import type { Client } from "./client.ts";
import type { ClientOptions } from "./http-client.ts";
import type {
  BulkRequest,
  BuryOptions,
  CallOptions,
  ChangeOptions,
  Changes,
  CountQuery,
  DeadQuery,
  DismissRequest,
  EnqueueOptions,
  EraseRequest,
  ExportQuery,
  ForecastQuery,
  ListQuery,
  NewSchedule,
  PutOptions,
  ReceiveOptions,
  RedriveRequest,
  RepeatableOptions,
  ResumeOptions,
  RetryOptions,
  SeenOptions,
} from "./options.ts";

const CALL: Names<CallOptions> = { signal: true };
const REPEATABLE: Names<RepeatableOptions> = { ...CALL, idempotencyKey: true };
const SEEN: Names<SeenOptions> = { ifMatch: true };
const CHANGE: Names<ChangeOptions> = { ...CALL, reason: true };
const SEEN_CHANGE: Names<ChangeOptions & SeenOptions> = { ...CHANGE, ...SEEN };
const BATCH: Names<RepeatableOptions & ChangeOptions> = { ...REPEATABLE, ...CHANGE };
const TIME = { delay: true, dueAt: true } as const;
const FILTERS = { tag: true, group: true } as const;
const RANGE = { from: true, to: true } as const;
const JOB = Object.fromEntries(OPTION_NAMES.map((name) => [name, true])) as Names<
  Omit<PutOptions, keyof typeof TIME | keyof RepeatableOptions | keyof ChangeOptions>
>;
const PUT: Names<PutOptions & SeenOptions & { body: unknown }> = {
  body: true,
  ...{ ...TIME, ...JOB, ...BATCH, ...SEEN },
};
const ENQUEUE: Names<EnqueueOptions> = {
  ...{ ...TIME, key: true, onDuplicate: true, maxDelay: true },
  ...{ ...JOB, ...BATCH },
};
const CHANGES: Names<Changes> = { ...TIME, shift: true, body: true, ...BATCH, ...SEEN };
const LIST: Names<ListQuery> = { topic: true, state: true, ...RANGE, ...FILTERS, pageSize: true, ...CALL };
const FORECAST: Names<ForecastQuery> = { topic: true, ...RANGE, ...CALL };
const COUNTS: Names<CountQuery> = { ...FORECAST, step: true };
const DEAD: Names<DeadQuery> = { ...FILTERS, pageSize: true, ...CALL };
const SCHEDULE: Names<NewSchedule> = {
  ...{
    expression: true,
    timezone: true,
    start: true,
    end: true,
    flexibleWindow: true,
    topic: true,
    body: true,
  },
  ...JOB,
};
const REDRIVE: Names<RedriveRequest> = {
  ids: true,
  max: true,
  delay: true,
  ratePerSecond: true,
  ...BATCH,
  ...SEEN,
};
const DISMISS: Names<DismissRequest> = { ids: true, ...SEEN_CHANGE };
const BULK: Names<BulkRequest> = {
  ...{ action: true, topic: true, dryRun: true, ratePerSecond: true, shift: true, cursor: true },
  ...{ ...RANGE, ...TIME, ...FILTERS, ...BATCH },
};
const ERASE: Names<EraseRequest> = {
  ...{ topic: true, keyPrefix: true, dryRun: true, cursor: true },
  ...{ ...FILTERS, ...CHANGE },
};
const EXPORT: Names<ExportQuery> = {
  topic: true,
  state: true,
  ...RANGE,
  pageSize: true,
  cursor: true,
  ...CALL,
};
const RESUME: Names<ResumeOptions> = { ratePerSecond: true, ...CHANGE };
const RECEIVE: Names<ReceiveOptions> = { max: true, waitSeconds: true, ...CALL };
const RETRY: Names<RetryOptions> = { delay: true, error: true, ...CALL };
const BURY: Names<BuryOptions> = { error: true, ...CALL };
const CLIENT: Names<ClientOptions> = {
  ...{ url: true, auth: true, region: true, timeout: true, retries: true },
  schemas: true,
};

/** The known options of each call, by the position of the argument. */
const OPTIONS: { readonly [Name in keyof Client]: { readonly [position: number]: object } } = {
  enqueue: { 2: ENQUEUE },
  enqueueMany: { 1: BATCH },
  put: { 2: PUT },
  get: { 1: CALL },
  reschedule: { 1: CHANGES },
  cancel: { 1: SEEN_CHANGE },
  cancelIfWaiting: { 1: CHANGE },
  cancelMany: { 1: CHANGE },
  list: { 0: LIST },
  forecast: { 0: FORECAST },
  counts: { 0: COUNTS },
  bulk: { 0: BULK },
  erase: { 0: ERASE },
  exportJobs: { 0: EXPORT },
  topics: { 0: CALL },
  topic: { 1: CALL },
  pause: { 1: CHANGE },
  resume: { 1: RESUME },
  dead: { 1: DEAD },
  redrive: { 1: REDRIVE },
  dismiss: { 1: DISMISS },
  schedules: { 0: CALL },
  schedule: { 1: CALL },
  putSchedule: { 1: SCHEDULE, 2: CALL },
  removeSchedule: { 1: CALL },
  pauseSchedule: { 1: CALL },
  resumeSchedule: { 1: CALL },
  runSchedule: { 1: REPEATABLE },
  receive: { 1: RECEIVE },
  finish: { 2: CALL },
  extend: { 3: CALL },
  retry: { 2: RETRY },
  bury: { 2: BURY },
  health: { 0: CALL },
};

/** Only plain JavaScript can give an unknown option. */
export function checkClientOptions(options: ClientOptions): void {
  const [unknown] = unknownNames("createClient", "option", options, Object.keys(CLIENT));
  if (unknown !== undefined) throw new RangeError(unknown);
}

type Call = (...given: unknown[]) => unknown;
const LISTS: readonly string[] = [
  "list",
  "forecast",
  "counts",
  "exportJobs",
  "dead",
  "schedules",
] satisfies (keyof Client)[];

/** The options of any call that are durations. */
const DURATIONS = [
  ...["delay", "maxDelay", "shift", "flexibleWindow"],
  ...OPTION_NAMES.filter((name) => JOB_OPTIONS[name].kind === "duration"),
];

/** Answers the fault of the first duration that is most likely a number of milliseconds. The API would take it as seconds. */
function tooManySeconds(name: string, given: readonly unknown[]) {
  const jobs = name === "enqueueMany" && Array.isArray(given[0]) ? given[0] : [];
  const options = Object.keys(OPTIONS[name as keyof Client]).map((position) => given[Number(position)]);
  const places = [
    ...jobs.map((job: unknown, i) => ({ at: `jobs.${i}.`, fields: job })),
    ...options.map((fields) => ({ at: "", fields })),
  ];
  for (const { at, fields } of places) {
    for (const duration of DURATIONS) {
      const value = Object(fields)[duration];
      const allowed = insteadOfMilliseconds(value);
      if (allowed !== undefined)
        return { path: `${at}${duration}`, message: `must be ${allowed}, got ${value}` };
    }
  }
  return undefined;
}

/**
 * Refuses unknown options with `bad-request`: the API would never see some of them, and does not name the nearest option. Refuses numbers of
 * milliseconds in the same way.
 */
export function withCheckedOptions<Calls extends object>(client: Calls): Calls {
  const calls = Object.entries(client as Readonly<Record<string, Call>>).map(([name, call]) => [
    name,
    (...given: unknown[]) => {
      const [unknown] = Object.entries(OPTIONS[name as keyof Client]).flatMap(([position, names]) =>
        unknownNames(name, "option", given[Number(position)], Object.keys(names)),
      );
      try {
        if (unknown !== undefined) throw new MinutehandError("bad-request", unknown);
        const fault = tooManySeconds(name, given);
        if (fault === undefined) return call(...given);
        throw new MinutehandError("bad-request", `${fault.path} ${fault.message}`, { errors: [fault] });
      } catch (refusal) {
        // A call fails by its promise, also if `null` is given for its options.
        return LISTS.includes(name) ? refusedList(refusal) : Promise.reject(refusal);
      }
    },
  ]);
  return Object.fromEntries(calls) as Calls;
}

async function* refusedList(refusal: unknown): AsyncGenerator<never> {
  yield await Promise.reject(refusal);
}
