import { drawJobId } from "../../src/core/job-id.ts";

const DUE = "2026-03-01T09:00:00.000Z";
const ID = "01KJMA0FM001ZZZZZZZZZZZZZZ";
const job = { id: ID, revision: 0, attempt: 1, dueAt: DUE, body: null };

/** As deep as SQS's 256 KiB allow. */
const DEEP = `${"[".repeat(120_000)}${"]".repeat(120_000)}`;

const around = (fields: object) => JSON.stringify({ v: 1, topic: "orders", jobs: [job], ...fields });
const withJob = (fields: object) => around({ jobs: [{ ...job, ...fields }] });
const raw = (fields: string) => `{"v":1,"topic":"orders","jobs":[{${fields}}]}`;
const rawJob = `"id":"${ID}","revision":0,"attempt":1,"dueAt":"${DUE}"`;

export const ODD_VALUES: unknown[] = [
  null,
  true,
  -1,
  0.5,
  1e308,
  2 ** 53,
  "",
  "x",
  "\0",
  "\ud800",
  "9".repeat(5000),
  [],
  {},
  [[job]],
  { toString: 1, length: 9 },
];

const FIELDS = ["v", "topic", "group", "jobs", "dead", "error", "constructor"];
const JOB_FIELDS = [
  ..."id revision attempt dueAt headers expiresAt maxAttempts key body toJSON".split(" "),
  ..."callbackUrl restarts heldUntil".split(" "),
];

type Hostile = [string, string];

/** Message bodies that Minutehand never sends. None of their jobs is filed. */
export function* hostileMessages(): Generator<Hostile> {
  yield* noMessages();
  yield* oddValues();
  yield* prototypeKeys();
  yield* oddTopics();
  yield ["a deep body", raw(`${rawJob},"body":${DEEP}`)];
  yield ["deep headers", raw(`${rawJob},"headers":${DEEP}`)];
  for (const number of ["1e309", "-0", "1e126", "123456789012345678901234567890"])
    yield [`the revision ${number}`, raw(rawJob.replace('"revision":0', `"revision":${number}`))];
  yield* oddTimes();
  yield* oddIds();
  yield ["a dead letter of nobody", around({ dead: true, error: "x" })];
  yield ["2,000 jobs", around({ jobs: Array.from({ length: 2000 }, () => ({ ...job, id: randomId() })) })];
  yield [
    "one job 2,000 times",
    around({ jobs: Array.from({ length: 2000 }, (_, i) => ({ ...job, revision: i })) }),
  ];
}

function* noMessages(): Generator<Hostile> {
  const texts = [
    "",
    " ",
    "null",
    "1",
    '"x"',
    "[]",
    "{}",
    "{",
    "\0",
    "\ufeff{}",
    "NaN",
    "[[[[",
    "<xml/>",
    DEEP,
  ];
  for (const text of texts) yield [`no message: ${text.slice(0, 10)}`, text];
  for (const version of [0, 2, "1", 1.5, null]) yield [`layout ${version}`, around({ v: version })];
}

function* oddValues(): Generator<Hostile> {
  for (const [i, value] of ODD_VALUES.entries()) {
    for (const name of FIELDS) yield [`${name} is odd value ${i}`, around({ [name]: value })];
    for (const name of JOB_FIELDS) yield [`a job's ${name} is odd value ${i}`, withJob({ [name]: value })];
    yield [`a job is odd value ${i}`, around({ jobs: [job, value] })];
  }
}

function* prototypeKeys(): Generator<Hostile> {
  yield [
    "prototype keys",
    `{"__proto__":{"v":1,"topic":"orders","jobs":[]},"constructor":{"prototype":{"x":1}}}`,
  ];
  yield ["a job's prototype keys", raw(`${rawJob},"__proto__":{"key":"k"},"headers":{"__proto__":"x"}`)];
}

function* oddTopics(): Generator<Hostile> {
  for (const topic of [
    "__proto__",
    "constructor",
    "nobody",
    "../other",
    "x".repeat(100_000),
    "Orders",
    "a\nb",
  ])
    yield [`the topic ${topic.slice(0, 12)}`, around({ topic })];
}

function* oddTimes(): Generator<Hostile> {
  for (const heldUntil of ["+275760-09-13T00:00:00.000Z", "2026-03-01T09:00:00.000+24:00", "now"])
    yield [`held until ${heldUntil}`, withJob({ heldUntil })];
  for (const dueAt of [
    "+275760-09-13T00:00:00.000Z",
    "-271821-04-20T00:00:00.000Z",
    "2026",
    "now",
    "0",
    DUE + DUE,
  ])
    yield [`due ${dueAt}`, withJob({ dueAt })];
}

function* oddIds(): Generator<Hostile> {
  for (const id of [
    ID.toLowerCase(),
    `${ID}0`,
    ID.slice(1),
    `8${ID.slice(1)}`,
    "7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
    "meta",
  ])
    yield [`the id ${id}`, withJob({ id })];
  yield ["the latest id there can be", withJob({ id: `7ZZZZZZZZZ00${"Z".repeat(14)}` })];
}

function randomId(): string {
  return drawJobId(Date.parse(DUE), 2, (count) => crypto.getRandomValues(new Uint8Array(count)));
}
