import { ODD_VALUES } from "./hostile-messages.ts";

const TIME = "2026-03-01T09:00:00Z";
const job = { topic: "orders", body: { n: 1 } };
const occurrence = { v: 1, time: TIME, name: "hourly", job };

const FIELDS = ["v", "time", "name", "job", "id"];
const JOB_FIELDS = [
  ..."topic body headers expiresAfter maxAttempts spread tag group callbackUrl".split(" "),
  ..."key onDuplicate once dueAt id state revision untracked pk sk expiresAt".split(" "),
];

const BUS_FIELDS = ["id", "source", "detail-type", "time", "detail", "constructor"];

/** Messages that EventBridge's rules never send, and messages of attackers, each with the name of its fault. */
export function* hostileBusEvents(): Generator<[string, string]> {
  const detail = { key: "their-key" };
  const event = { id: "e", source: "s", "detail-type": "Paid", time: TIME, detail };
  for (const text of [
    "",
    "null",
    "[]",
    "{",
    "\0",
    "[".repeat(120_000),
    `${"[".repeat(120_000)}${"]".repeat(120_000)}`,
  ])
    yield [`no event: ${text.slice(0, 10)}`, text];
  for (const [i, value] of [undefined, ...ODD_VALUES].entries()) {
    for (const name of BUS_FIELDS)
      yield [`an event's ${name} is odd value ${i}`, JSON.stringify({ ...event, [name]: value })];
    yield [`an event's key is odd value ${i}`, JSON.stringify({ ...event, detail: { key: value } })];
  }
  for (const time of [
    "+275760-09-13T00:00:00.000Z",
    "-271821-04-20T00:00:00.000Z",
    "1970",
    "9999-12-31T23:59:59Z",
  ])
    yield [`an event of ${time}`, JSON.stringify({ ...event, time })];
  yield ["an event of a prototype", JSON.stringify(event).replace('"key"', '"__proto__"')];
  yield [
    "an event of 200 KiB",
    JSON.stringify({ ...event, detail: { ...detail, x: "x".repeat(200 * 1024) } }),
  ];
  const deep = JSON.stringify({ ...event, detail: { ...detail, deep: [] } });
  yield ["an event of great depth", deep.replace("[]", "[".repeat(9000) + "]".repeat(9000))];
}

/** Events that no schedule of Minutehand sends to the functions that schedules invoke, each with the name of its fault. */
export function* hostileEvents(): Generator<[string, unknown]> {
  for (const [i, value] of [undefined, ...ODD_VALUES].entries()) {
    yield [`odd value ${i}`, value];
    for (const name of FIELDS) yield [`${name} is odd value ${i}`, { ...occurrence, [name]: value }];
    for (const name of JOB_FIELDS)
      yield [`a job's ${name} is odd value ${i}`, { ...occurrence, job: { ...job, [name]: value } }];
  }
  for (const time of ["+275760-09-13T00:00:00.000Z", "-271821-04-20T00:00:00.000Z", "1970", "0", TIME + TIME])
    yield [`the time ${time}`, { ...occurrence, time }];
  for (const id of ["meta", "x".repeat(100_000), `7ZZZZZZZZZ00${"Z".repeat(14)}`, "paused#orders#0"])
    yield [`the id ${id.slice(0, 26)}`, { id }];
  const headers = { "x-a": 1, "x-b": { c: [] } };
  yield ["headers of other kinds", { ...occurrence, job: { ...job, headers } }];
  yield ["a name of 3 MB", { ...occurrence, name: "x".repeat(3_000_000) }];
  yield ["a body of 1 MB", { ...occurrence, job: { ...job, body: "x".repeat(1_000_000) } }];
  yield ["an event of Scheduler's own words", { ...occurrence, time: "<aws.scheduler.scheduled-time>" }];
}
