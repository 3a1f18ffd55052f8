import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  type Client,
  MinutehandError,
  type PulledJob,
  type PullOptions,
  pull,
} from "../../src/client/client.ts";

type Topics = { work: string };
type Answer = readonly string[] | Error;
type Calls = { extend?: () => unknown; finish?: () => unknown; retry?: () => unknown };

beforeEach(
  () => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] }),
);
afterEach(() => void vi.useRealTimers());

/**
 * Pulls from a queue whose calls of `receive` give `answers`, the bodies of jobs or an error. The last one aborts `stop` before it answers, unless
 * `stop` is given. A call of `calls` throws the error that it answers.
 */
function play(
  answers: readonly Answer[],
  run: (job: PulledJob<string>, lost: AbortSignal) => unknown,
  { extend, finish, retry, ...options }: Partial<PullOptions> & Calls = {},
) {
  const [stop, said, left] = [new AbortController(), [] as string[], [...answers]];
  const receive = async (topic: string, asked: object) => {
    said.push(`receive ${topic} ${JSON.stringify(asked)}`);
    const answer = left.shift() ?? [];
    if (left.length === 0 && !options.stop) stop.abort();
    if (answer instanceof Error) throw answer;
    return answer.map((body) => ({ id: `id-${body}`, attempt: 1, receipt: body, body }));
  };
  const settle =
    (verb: string, result: () => unknown = () => {}) =>
    async (_: string, ...given: unknown[]) => {
      said.push(
        [verb, ...given.map((value) => (typeof value === "string" ? value : JSON.stringify(value)))].join(
          " ",
        ),
      );
      const error = result();
      if (error instanceof Error) throw error;
    };
  const queue = {
    receive,
    extend: settle("extend", extend),
    finish: settle("finish", finish),
    retry: settle("retry", retry),
  };
  const errors: string[] = [];
  const onError: PullOptions["onError"] = (error, job) => errors.push(`${job?.id ?? "call"} ${error}`);
  const ended = pull(queue as unknown as Client<Topics>, "work", run, {
    stop: stop.signal,
    onError,
    ...options,
  });
  ended.catch(() => {});
  return { said, errors, ended, stop };
}

const ONE = 'receive work {"max":1,"waitSeconds":20}';
const wait = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
const pass = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1000);
const lostClaim = () => new MinutehandError("claim-lost", "this receipt no longer holds the claim");
const away = () => new MinutehandError("unavailable", "the API is away");

test("a worker runs the jobs one after the other, and finishes each", async () => {
  const { said, ended } = play([["a"], [], ["b"]], ({ body }) => void said.push(`run ${body}`));
  await ended;
  expect(said).toEqual([ONE, "run a", "finish a", ONE, ONE, "run b", "finish b"]);
});

test("a job whose run throws is retried with the error, and a value that it answers is no failure", async () => {
  const failing = ({ body }: PulledJob<string>) => {
    if (body === "a") throw new RangeError("too small");
    return body === "b" ? Promise.reject("no reason") : { error: "is the answer" };
  };
  const { said, errors, ended } = play([["a"], ["b"], ["c"]], failing);
  await ended;
  const settled = said.filter((call) => call !== ONE);
  expect(settled).toEqual([
    expect.stringMatching(/^retry a \{"error":"too small \(test\/client\/pull\.test\.ts:\d+\)"\}$/),
    'retry b {"error":"no reason"}',
    "finish c",
  ]);
  expect(errors).toEqual(["id-a RangeError: too small", "id-b no reason"]);
});

test("the lease of a job is extended every ten seconds while the job runs, and no longer", async () => {
  const { said, ended } = play([["a"]], () => wait(35));
  await pass(60);
  await ended;
  expect(said).toEqual([ONE, "extend a 30", "extend a 30", "extend a 30", "finish a"]);
});

test("a lease that is extended less often is extended for longer", async () => {
  const { said, ended } = play([["a"]], () => wait(90), { extendEvery: 60 });
  await pass(90);
  await ended;
  expect(said).toEqual([ONE, "extend a 180", "finish a"]);
});

test("a run is told by its signal when its claim is lost, and the worker goes on", async () => {
  const reasons: unknown[] = [];
  const untilLost = (_: unknown, lost: AbortSignal) =>
    new Promise((resolve, reject) => {
      setTimeout(resolve, 15_000);
      lost.addEventListener("abort", () => reject(reasons.push(lost.reason) && lost.reason));
    });
  const { said, errors, ended } = play([["a"], []], untilLost, { extend: lostClaim, retry: lostClaim });
  await pass(20);
  await ended;
  expect(reasons).toEqual([lostClaim()]);
  expect(said).toEqual([ONE, "extend a 30", expect.stringContaining(lostClaim().message), ONE]);
  expect(errors).toEqual([`call ${lostClaim()}`]);
});

test("a worker pauses for a second and goes on when a call fails because the API is away or a lease has ended", async () => {
  const { said, errors, ended } = play([away(), ["a"], []], () => {}, { finish: lostClaim });
  await pass(0.9);
  expect(said).toEqual([ONE]);
  await pass(0.2);
  expect(said).toEqual([ONE, ONE, "finish a"]);
  await pass(1);
  await ended;
  expect(said).toEqual([ONE, ONE, "finish a", ONE]);
  expect(errors).toEqual([`call ${away()}`, `call ${lostClaim()}`]);
});

test("without onError, the errors after which a worker goes on are written to stderr", async () => {
  const stderr = vi.spyOn(console, "error").mockReturnValue();
  const at = (path: string) => `    at run (${join(process.cwd(), path)}:3:9)`;
  const thrown = new Error("too small");
  const ofPackages = Array.from({ length: 9 }, () => at("node_modules/minutehand/client.js"));
  thrown.stack = ["Error: too small", at("worker.ts"), ...ofPackages].join("\n");
  const run = () => Promise.reject(thrown);
  const { ended } = play([away(), ["a"], []], run, { onError: undefined as never });
  await pass(1);
  await ended;
  const shown = "Error: too small\n    at run (worker.ts:3:9)\n    … 9 frames of packages and Node.js";
  expect(stderr.mock.calls).toEqual([["work: the API is away"], [`work: job id-a, attempt 1: ${shown}`]]);
  stderr.mockRestore();
});

test("any other error stops the worker, which lets its running jobs end and then throws the error", async () => {
  const refused = new MinutehandError("forbidden", "the token has ended");
  const failing = play([["a"], ["b"], ["c"]], ({ body }) => wait(body === "a" ? 5 : 1), {
    concurrency: 2,
    finish: () => failing.said.at(-1) === "finish b" && refused,
  });
  await pass(4);
  expect(failing.said.filter((call) => call.startsWith("finish"))).toEqual(["finish b"]);
  await pass(1);
  await expect(failing.ended).rejects.toBe(refused);
  expect(failing.said.slice(-2)).toEqual(["finish b", "finish a"]);
  const other = play([new TypeError("no topic"), ["a"]], () => {});
  await expect(other.ended).rejects.toThrow("no topic");
  expect(other.said).toEqual([ONE]);
});

test("a worker with a concurrency asks for as many jobs as it has room for, at most ten", async () => {
  const asked = (calls: readonly string[]) =>
    calls.flatMap((call) =>
      call.startsWith("receive") ? JSON.parse(call.slice("receive work ".length)).max : [],
    );
  const some = play([["a", "b"], ["c"], ["d"]], ({ body }) => wait(body === "b" ? 1 : 3), { concurrency: 3 });
  await pass(0.5);
  expect(asked(some.said)).toEqual([3, 1]);
  await pass(1);
  expect(asked(some.said)).toEqual([3, 1, 1]);
  await pass(5);
  await some.ended;
  expect(some.said.filter((call) => call.startsWith("finish"))).toEqual([
    "finish b",
    "finish a",
    "finish c",
    "finish d",
  ]);
  const many = play([["a"], []], () => wait(1), { concurrency: 12 });
  await pass(1);
  await many.ended;
  expect(asked(many.said)).toEqual([10, 10]);
});

test("a stopped worker settles the jobs that its last receive brings, and waits for those that run", async () => {
  const { said, ended, stop } = play([["a"], ["b"]], () => wait(5), { concurrency: 2 });
  expect(stop.signal.aborted).toBe(false);
  const ends = vi.fn();
  ended.then(ends);
  await pass(4.9);
  expect(stop.signal.aborted).toBe(true);
  expect(ends).not.toHaveBeenCalled();
  await pass(0.1);
  await ended;
  expect(said.slice(2)).toEqual(["finish a", "finish b"]);
});

test("a worker lets the rest of the program go on between empty answers that come at once, as those of the test kit", async () => {
  const others = vi.fn();
  setImmediate(others);
  const { said, ended } = play([[], [], []], () => {});
  await ended.then(() => expect(others).toHaveBeenCalled());
  expect(said).toEqual([ONE, ONE, ONE]);
});

test("a worker that is stopped before its start receives nothing", async () => {
  const { said, ended } = play([["a"]], () => {}, { stop: AbortSignal.abort() });
  await ended;
  expect(said).toEqual([]);
});

test.each<[object, string]>([
  [{ concurrency: 0 }, "concurrency must be a whole number, 1 or more, got 0"],
  [{ concurrency: 1.5 }, "concurrency must be a whole number, 1 or more, got 1.5"],
  [{ extendEvery: 0 }, "extendEvery must be a number of seconds, more than 0 and at most 14400, got 0"],
  [
    { extendEvery: 14_401 },
    "extendEvery must be a number of seconds, more than 0 and at most 14400, got 14401",
  ],
  [{ concurency: 2 }, 'pull has an unknown option "concurency" (did you mean "concurrency"?)'],
])("the options %j are refused", async (options, message) => {
  const { said, ended } = play([["a"]], () => {}, options);
  await expect(ended).rejects.toThrow(message);
  await expect(ended).rejects.toBeInstanceOf(RangeError);
  expect(said).toEqual([]);
});
