import { expect, it } from "vitest";
import type { Home } from "../../../src/core/home.ts";
import { requestOf } from "../requests.ts";
import { filingsOf } from "../witness/filings.ts";

const MINUTE = Date.UTC(2026, 2, 1, 9, 0, 0);

/** A topic that takes two jobs a minute, and callers that file jobs in the tenth second of a minute. */
function twoAMinute() {
  const wrong: string[] = [];
  let now = MINUTE + 10_000;
  const filings = filingsOf({
    ...{ clock: () => now, skew: 0, broken: (_: string, text: string) => void wrong.push(text) },
    ...{ topics: { mail: { maxFiledPerMinute: 2 } }, isCalm: true, isOver: () => false },
  });
  const ask = (n: number, token?: string) => {
    const headers = token === undefined ? {} : { "idempotency-key": token };
    const request = requestOf("POST", "/jobs", { topic: "mail", body: n }, headers);
    if (!request) throw new Error("this call files a job");
    return filings.asked(request);
  };
  const store = (n: number): void => filings.created({ id: `job ${n}`, topic: "mail", body: `${n}` } as Home);
  const refuse = (n: number, token?: string, retryAfter = 50): void =>
    ask(n, token)({ status: 429, body: { code: "too-many-filed", retryAfter } });
  const file = (n: number, token?: string): void => {
    const answered = ask(n, token);
    store(n);
    answered({ status: 201, body: {} });
  };
  const pass = (ms: number): void => {
    now += ms;
  };
  return { wrong, file, store, refuse, pass };
}

it("two jobs of a minute, and one of the next, are within the limit", () => {
  const { wrong, file, refuse, pass } = twoAMinute();
  for (const n of [1, 2]) file(n);
  refuse(3);
  pass(50_000);
  file(3);
  expect(wrong).toEqual([]);
});

it("a third job of a minute breaks the limit", () => {
  const { wrong, file } = twoAMinute();
  for (const n of [1, 2, 3]) file(n);
  expect(wrong).toEqual([`3 jobs in the minute ${MINUTE}, which may have 2`]);
});

it("a refused call must not file its job", () => {
  const { wrong, file, store, refuse } = twoAMinute();
  for (const n of [1, 2]) file(n);
  refuse(3);
  store(3);
  expect(wrong).toContain("1 jobs of 1 calls, of which 1 were refused");
});

it("a repeat of a call that filed must not be refused", () => {
  const { wrong, file, refuse, pass } = twoAMinute();
  for (const n of [1, 2]) file(n, `token ${n}`);
  pass(1);
  refuse(1, "token 1");
  expect(wrong).toEqual(["filed by a call whose repeat was refused"]);
});

it("a topic must take jobs until it is full, and must say when it takes more", () => {
  const { wrong, file, refuse } = twoAMinute();
  refuse(1);
  file(2);
  refuse(3, undefined, 20);
  expect(wrong).toEqual([
    "a job refused after 1 of 2",
    "asked to wait 20 s, which is not when a minute begins",
  ]);
});
