import { describe, expect, it } from "vitest";
import { deadText, jobText, messageText, parseMessage } from "../../src/core/message.ts";
import { packsOf } from "../../src/core/packs.ts";
import { topicPolicy } from "../../src/settings/policy.ts";
import { TIME, waitingHome } from "./waiting-home.ts";

describe("messages", () => {
  it("carry the body as stored, and the number of the run", () => {
    const body = '{"a":[1,"\\ufffe"],"__proto__":{"x":1}}';
    const text = messageText("t", undefined, [
      jobText(waitingHome({ body, attempt: 2, revision: 3, headers: { traceparent: "00" } })),
    ]);
    expect(text).toContain(`"body":${body}`);
    const job = {
      revision: 3,
      attempt: 3,
      dueAt: "2026-03-01T09:30:15.250Z",
      headers: { traceparent: "00" },
    };
    expect(parseMessage(text)).toMatchObject({ v: 1, topic: "t", jobs: [job] });
  });

  it("say when they were sent", () => {
    const [pack] = packsOf("t", topicPolicy({}), [waitingHome()], TIME);
    const [job] = parseMessage(pack?.body ?? "")?.jobs ?? [];
    expect(Date.parse(job?.sentAt ?? "")).toBe(TIME);
  });

  it("a dead letter names the last run", () => {
    expect(parseMessage(deadText(waitingHome({ attempt: 4 }), "why"))).toMatchObject({
      dead: true,
      error: "why",
      jobs: [{ attempt: 4 }],
    });
  });

  it("text that is not the queue's message is recognised", () => {
    for (const text of [
      "",
      "1",
      "null",
      "{}",
      '{"v":2,"topic":"t","jobs":[]}',
      '{"v":1,"topic":"t","jobs":[{}]}',
    ]) {
      expect(parseMessage(text)).toBeUndefined();
    }
  });
});
