import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import type { Call, Reply } from "../../../src/consumer/webhook/call.ts";
import { receiverSecret } from "../../../src/consumer/webhook/receiver-secret.ts";
import { webhookRun } from "../../../src/consumer/webhook/run.ts";
import { signWith } from "../../../src/consumer/webhook/sign.ts";
import type { MessageJob } from "../../../src/core/message.ts";
import type { Policy } from "../../../src/settings/policy.ts";

const [CURRENT, PREVIOUS, OTHER] = ["A", "b", "7"].map((char) => char.repeat(44)) as [string, string, string];
const { signal } = new AbortController();

const policy: Policy = {
  shards: 1,
  retention: 1,
  deadRetention: 1,
  topics: {
    mail: { webhook: { url: "https://mail.example/hooks" } },
    callbacks: { webhook: {} },
    moving: { webhook: { url: "https://mail.example/hooks", sharedSecret: true } },
  },
};
const JOB: MessageJob = {
  id: "01KJKGHS2800000000000000AA",
  revision: 0,
  attempt: 3,
  dueAt: "2026-03-01T09:00:00.000Z",
  body: { text: "5 € \ufffe \ud800" },
};

/** Runs a job once. Answers its calls. The clock is the real one, because the package verifies signatures by it. */
async function run(
  job: Partial<MessageJob> = {},
  { topic = "mail", secrets = [CURRENT], reply = 200 as number | Error } = {},
) {
  const calls: Call[] = [];
  const post = async (call: Call): Promise<Reply> => {
    calls.push(call);
    if (reply instanceof Error) throw reply;
    return { status: reply, body: "" };
  };
  const ctx = { policy, clock: () => Date.now() };
  const ending = await webhookRun(ctx, { secrets, post })({ ...JOB, ...job }, topic, signal);
  return { ending, calls, call: calls[0] as Call };
}

describe("a run", () => {
  it("of a keyed job has the key in a header", async () => {
    const { call } = await run({ key: "order-17@de,=+~" });
    expect(call.headers).toMatchObject({ "minutehand-key": "order-17@de,=+~" });
  });

  it("of a schedule's job has the schedule and the occurrence's time in headers", async () => {
    const { call } = await run({ schedule: "daily", scheduledFor: "2026-03-01T09:00:00.000Z" });
    expect(call.headers).toMatchObject({
      "minutehand-schedule": "daily",
      "minutehand-scheduled-for": "2026-03-01T09:00:00.000Z",
    });
  });

  it("posts the body with the headers of Standard Webhooks and its own", async () => {
    const { ending, call } = await run({ headers: { "X-Shop": "7" } });
    expect(ending).toEqual({ end: "done" });
    expect(call.url).toBe("https://mail.example/hooks");
    expect(call.headers).toEqual({
      "x-shop": "7",
      "content-type": "application/json",
      "user-agent": "Minutehand",
      "webhook-id": JOB.id,
      "webhook-timestamp": expect.stringMatching(/^\d{10}$/),
      "webhook-signature": expect.stringMatching(/^v1,[\w+/]{43}=$/),
      "minutehand-topic": "mail",
      "minutehand-attempt": "3",
    });
    expect(JSON.parse(call.body)).toEqual(JOB.body);
  });

  it("is signed so that the standardwebhooks package verifies it, with either secret while one replaces the other", async () => {
    const { call } = await run({}, { secrets: [CURRENT, PREVIOUS] });
    for (const secret of [CURRENT, PREVIOUS, `whsec_${CURRENT}`]) {
      expect(new Webhook(receiverSecret(secret, call.url)).verify(call.body, { ...call.headers })).toEqual(
        JOB.body,
      );
    }
    const own = receiverSecret(CURRENT, call.url);
    for (const secret of [receiverSecret(OTHER, call.url), CURRENT, PREVIOUS])
      expect(() => new Webhook(secret).verify(call.body, { ...call.headers })).toThrow(
        "No matching signature",
      );
    const altered = { ...call.headers, "webhook-id": "another" };
    expect(() => new Webhook(own).verify(call.body, altered)).toThrow("No matching signature");
  });

  it("is accepted by its own receiver alone: no other receiver can replay its call or forge a call", async () => {
    const { call: toShop } = await run({ callbackUrl: "https://shop.example/hooks" });
    const { call: toMail } = await run({ callbackUrl: "https://mail.example/hooks" });
    const [shop, mail] = [toShop, toMail].map(({ url }) => receiverSecret(CURRENT, url)) as [string, string];
    expect(new Webhook(mail).verify(toMail.body, { ...toMail.headers })).toEqual(JOB.body);
    expect(() => new Webhook(mail).verify(toShop.body, { ...toShop.headers })).toThrow(
      "No matching signature",
    );
    const at = new Date();
    const forged = { "webhook-id": "1", "webhook-timestamp": `${Math.floor(at.getTime() / 1000)}` };
    const signature = new Webhook(shop).sign("1", at, "{}");
    expect(() => new Webhook(mail).verify("{}", { ...forged, "webhook-signature": signature })).toThrow(
      "No matching",
    );
  });

  it("is signed by the topic's own secrets too if its policy says so, for receivers that have only these secrets", async () => {
    const { call } = await run({}, { topic: "moving", secrets: [CURRENT, PREVIOUS] });
    for (const secret of [
      CURRENT,
      PREVIOUS,
      receiverSecret(CURRENT, call.url),
      receiverSecret(PREVIOUS, call.url),
    ])
      expect(new Webhook(secret).verify(call.body, { ...call.headers })).toEqual(JOB.body);
  });

  it("has the same id on each retry, and another after a redrive", async () => {
    const ids = [{ attempt: 1 }, { attempt: 2, revision: 7 }, { restarts: 1 }, { restarts: 12, attempt: 9 }];
    const sent = await Promise.all(ids.map(async (job) => (await run(job)).call.headers["webhook-id"]));
    expect(sent).toEqual([JOB.id, JOB.id, `${JOB.id}-1`, `${JOB.id}-12`]);
  });

  it("calls the job's own URL before the topic's", async () => {
    const { call } = await run({ callbackUrl: "https://shop.example/7" });
    expect(call.url).toBe("https://shop.example/7");
  });

  it("calls nobody when there is no URL, or one that its topic no longer allows", async () => {
    const { ending, calls } = await run({}, { topic: "callbacks" });
    expect(ending).toEqual({
      end: "failed",
      error: "neither the job nor topic callbacks says which URL to call",
    });
    const private_ = await run({ callbackUrl: "https://10.0.0.7/" });
    expect(private_.ending).toMatchObject({
      end: "failed",
      error: "callbackUrl must lead to a public address",
    });
    expect([...calls, ...private_.calls]).toEqual([]);
  });

  it("lets no header of a job take the place of the call's own", async () => {
    const { call } = await run({ headers: { "Webhook-Id": "forged", "minutehand-attempt": "1", host: "x" } });
    expect(call.headers).toMatchObject({ "webhook-id": JOB.id, "minutehand-attempt": "3" });
    expect(Object.keys(call.headers)).not.toContain("host");
  });

  it("fails when no answer came", async () => {
    const { ending } = await run({}, { reply: new Error("no answer within 15 s") });
    expect(ending).toEqual({ end: "failed", error: "no answer within 15 s" });
  });
});

describe("a secret", () => {
  it.each([[[]], [[""]], [["whsec_"]], [["not base64!"]], [["{}", CURRENT]]])("is refused: %j", (secrets) => {
    expect(() => signWith(secrets)).toThrow("a webhook's secret must be base64");
  });

  it("is not in the error that refuses it", () => {
    expect(() => signWith(["hunter2!"])).not.toThrow("hunter2");
  });

  it("before the current one is left out if it is not base64", () => {
    const call = { url: "https://mail.example/", id: "id", now: 0, body: "{}", sharedSecret: true };
    expect(signWith([CURRENT, "not base64!"])(call)).toBe(signWith([CURRENT])(call));
  });
});
