import { expect, test } from "vitest";
import { actorText } from "../../src/client/actor-text.ts";
import { ACTOR_KINDS } from "../../src/core/actor.ts";
import type { ActorJson } from "../../src/http/answers/actor.ts";

const reason = "a wrong price";

test.each<[ActorJson, string]>([
  [{ kind: "caller" }, "a caller"],
  [{ kind: "caller", name: "alice" }, "a caller (alice)"],
  [{ kind: "bulk", reason }, "an action on many jobs: a wrong price"],
  [{ kind: "caller", name: "alice", reason }, "a caller (alice): a wrong price"],
  [{ kind: "schedule", name: "nightly" }, "a schedule (nightly)"],
])("%j is called %s", (by, text) => {
  expect(actorText(by)).toBe(text);
});

test("each kind has words of its own", () => {
  const texts = ACTOR_KINDS.map((kind) => actorText({ kind }));
  expect(new Set(texts).size).toBe(ACTOR_KINDS.length);
  for (const text of texts) expect(text).toContain(" ");
});

test("a kind of a later API is named as the API names it", () => {
  expect(actorText({ kind: "moon" as ActorJson["kind"], name: "full" })).toBe("moon (full)");
});
