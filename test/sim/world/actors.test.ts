import { expect, it } from "vitest";
import type { Actor } from "../../../src/core/actor.ts";
import type { Home } from "../../../src/core/home.ts";
import { type Headers, requestOf } from "../requests.ts";
import { actorsOf } from "../witness/actors.ts";
import { knownJobs } from "../witness/known-jobs.ts";

const NOW = Date.UTC(2026, 2, 1, 9, 0, 0);
const id = "job";
const before = { id, topic: "mail", state: "scheduled", revision: 3, body: "1", createdAt: NOW } as Home;

/** A job of revision 3, and a caller that moves it, or redrives it once it is dead. */
function scene() {
  const wrong: string[] = [];
  const jobs = knownJobs(() => NOW);
  jobs.of(id).home = before;
  const violate = (promise: string, _: string, text: string) => void wrong.push(`${promise}: ${text}`);
  const actors = actorsOf({ clock: () => NOW, skew: 0, violate, topics: { mail: {} }, jobs });
  const ask = (method: string, path: string, fields: object = {}, headers: Headers = {}) => {
    const request = requestOf(method, path, fields, headers);
    if (!request) throw new Error("this call changes a job");
    return actors.asked(request);
  };
  const move = (by: Actor | undefined, was: Home = before, more: object = {}): void => {
    const log = [{ what: "moved", at: NOW, dueAt: NOW, ...(by && { by }) }];
    const after = { ...was, state: "scheduled", revision: was.revision + 1, log, ...more } as Home;
    actors.written(was, after);
  };
  return { wrong, ask, move };
}

const MOVE = ["PATCH", `/jobs/${id}?reason=why`, { delay: 1 }] as const;
const caller = { kind: "caller", reason: "why" } as const;

it("a move names the caller that asked for it", () => {
  const { wrong, ask, move } = scene();
  ask(...MOVE, { "if-match": `"${id}.3"` });
  move(caller);
  expect(wrong).toEqual([]);
});

it.for<[what: string, by: Actor | undefined]>([
  ["nobody", undefined],
  ["a caller without its reason", { kind: "caller" }],
  ["an event, in a topic without events", { kind: "event" }],
  ["a bulk, without a bulk", { kind: "bulk", reason: "why" }],
])("a caller's move must not name %s", ([, by]) => {
  const { wrong, ask, move } = scene();
  ask(...MOVE);
  move(by);
  expect(wrong).toMatchObject([expect.stringMatching(/^timeline: moved by/)]);
});

it("a change must not be made of a revision that its caller did not see", () => {
  const { wrong, ask, move } = scene();
  ask(...MOVE, { "if-match": '"2"' });
  move(caller);
  expect(wrong).toEqual(["If-Match: revision 3 changed by a caller that saw 2"]);
});

it("a call must not be refused for a job that is as seen, nor after it has changed the job", () => {
  const { wrong, ask, move } = scene();
  const refused = { status: 412, body: { code: "changed-meanwhile", id } };
  ask(...MOVE, { "if-match": `"${id}.3"` })(refused);
  expect(wrong).toEqual([`If-Match: refused although it is as seen: ${id}.3`]);
  ask(...MOVE, { "if-match": `"${id}.2"` })(refused);
  expect(wrong).toHaveLength(1);
  move(caller);
  ask(...MOVE, { "if-match": `"${id}.2"` })(refused);
  expect(wrong.at(-1)).toBe("If-Match: changed by a call that was refused: why");
});

it("a tag of another job is refused", () => {
  const { wrong, ask } = scene();
  ask(...MOVE, { "if-match": `"${id}.3"` })({
    status: 412,
    body: { code: "changed-meanwhile", id: "another" },
  });
  expect(wrong).toEqual([]);
});

it("a late redrive keeps the one time for which it has asked", () => {
  const { wrong, ask, move } = scene();
  const dead = { ...before, state: "dead", finishedAt: NOW } as Home;
  ask("POST", "/topics/mail/redrive?reason=why", { max: 2, delay: 1 });
  move(caller, dead, { wantedAt: NOW + 1000, dueAt: NOW + 1000 });
  expect(wrong).toEqual([]);
  move(caller, { ...dead, revision: 5 } as Home, { wantedAt: NOW + 999, dueAt: NOW + 1000 });
  move(caller, { ...dead, revision: 7 } as Home, { wantedAt: NOW + 500, dueAt: NOW + 1000, askedLate: true });
  expect(wrong).toEqual([
    `late: asked for ${NOW + 999}, due at ${NOW + 1000}, late: false`,
    `late: redriven for ${NOW + 500}, asked for ${NOW + 1000} or later`,
  ]);
});
