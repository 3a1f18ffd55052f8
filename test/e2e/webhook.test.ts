import type { RequestListener } from "node:http";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { receiverSecret } from "../../src/consumer/webhook/receiver-secret.ts";
import { type Received, type Receiver, startReceiver } from "../support/receiver.ts";
import { type JobView, sharedApi } from "./api.ts";
import { here } from "./here.ts";
import { callbackSecret } from "./services.ts";

const api = sharedApi();
const { skip, title } = here("receivers", "a receiver on this machine");

describe.concurrent("webhook", () => {
  it.for([
    ["http://169.254.169.254/latest/meta-data/", "callbackUrl"],
    ["https://169.254.169.254/", "callbackUrl must lead to a public address"],
    ["https://[::ffff:a9fe:a9fe]/", "callbackUrl must lead to a public address"],
    ["https://user:password@example.com/", "callbackUrl must have no user name or password"],
    ["ftp://example.com/", "callbackUrl must begin with https:"],
  ] as const)("%s is refused at enqueue", async ([callbackUrl, rule]) => {
    const job = { topic: "callbacks", delay: 3600, body: null, callbackUrl };
    const { status, body } = await api.call<{ detail: string }>("POST", "/jobs", job);
    expect(status).toBe(400);
    expect(body.detail).toContain(rule);
  });

  it("a topic without a webhook takes no callbackUrl", async () => {
    const job = { topic: "reminders", delay: 3600, body: null, callbackUrl: "https://example.com/" };
    expect((await api.call("POST", "/jobs", job)).status).toBe(400);
  });

  it("GET /topics/callbacks answers the policy for calls", async () => {
    expect(await api.call("GET", "/topics/callbacks")).toMatchObject({
      status: 200,
      body: {
        policy: {
          consumer: "webhook",
          webhook: { timeout: 15, allowHttp: expect.any(Boolean), allowHosts: expect.any(Array) },
        },
      },
    });
  });
});

describe.skipIf(skip)(title, { concurrent: true }, () => {
  it("gets one signed POST when the job is due, with the job's own headers", async () => {
    await using receiver = await startReceiver(answers({ status: 204 }));
    const job = await call(receiver, { delay: 2, headers: { "x-shop": "17" }, body: { paid: 17 } });
    const done = await api.until(job.id, ({ state }) => state === "done");
    expect(Date.parse(done.claimedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(job.dueAt));
    expect(receiver.received).toHaveLength(1);
    const [received] = receiver.received;
    expect(received).toMatchObject({
      path: "/hooks",
      headers: {
        "x-shop": "17",
        "content-type": "application/json",
        "webhook-id": job.id,
        "minutehand-topic": "callbacks",
        "minutehand-attempt": "1",
      },
    });
    expect(await verified(received)).toEqual({ paid: 17 });
  });

  it("that answers 503 is called again after its Retry-After, with the same webhook-id", async () => {
    const busy = { status: 503, headers: { "retry-after": "30" }, body: "busy" };
    await using receiver = await startReceiver(answers(busy, { status: 200 }));
    const job = await call(receiver, { delay: 0, body: "again" });
    const done = await api.until(job.id, ({ state }) => state === "done");
    expect(done).toMatchObject({ attempt: 2, revision: 1 });
    const [first, second] = receiver.received;
    expect(receiver.received).toHaveLength(2);
    expect(first?.headers).toMatchObject({ "webhook-id": job.id, "minutehand-attempt": "1" });
    expect(second?.headers).toMatchObject({ "webhook-id": job.id, "minutehand-attempt": "2" });
    expect(await verified(first)).toBe("again");
    expect(await verified(second)).toBe("again");
    const [calledAt, calledAgainAt] = [first, second].map((one) => Number(one?.headers["webhook-timestamp"]));
    // The topic's backoff would have been 15 s.
    expect(calledAgainAt).toBeGreaterThanOrEqual((calledAt ?? 0) + 30);
  });

  it("that answers 410 makes the job dead, and a redrive calls the receiver with another webhook-id", async () => {
    await using receiver = await startReceiver(
      answers({ status: 410, body: "shop closed" }, { status: 200 }),
    );
    const job = await call(receiver, { delay: 0 });
    const dead = await api.until(job.id, ({ state }) => state === "dead");
    expect(dead).toMatchObject({ attempt: 1, lastError: "HTTP 410: shop closed" });
    const list = await api.call<{ jobs: JobView[] }>("GET", "/topics/callbacks/dead");
    expect(list.body.jobs).toContainEqual(expect.objectContaining({ id: job.id }));
    const redriven = await api.call("POST", "/topics/callbacks/redrive", { ids: [job.id] });
    expect(redriven).toMatchObject({ status: 200, body: { redriven: 1 } });
    await api.until(job.id, ({ state }) => state === "done");
    expect(receiver.received.map(({ headers }) => headers["webhook-id"])).toEqual([job.id, `${job.id}-1`]);
    expect(receiver.received[1]?.headers["minutehand-attempt"]).toBe("1");
    expect(await verified(receiver.received[1])).toBeNull();
  });

  it("is allowed by the topic's policy", async () => {
    expect((await api.call("GET", "/topics/callbacks")).body).toMatchObject({
      policy: { webhook: { allowHttp: true, allowHosts: expect.arrayContaining(["127.0.0.1"]) } },
    });
  });
});

function call(receiver: Receiver, job: object): Promise<JobView> {
  return api.file({ topic: "callbacks", callbackUrl: receiver.url, ...job });
}

type Reply = { status: number; headers?: Record<string, string>; body?: string };

function answers(...replies: [Reply, ...Reply[]]): RequestListener {
  let next = 0;
  return (_, response) => {
    const { status, headers, body } = replies[next] ?? replies[0];
    next = Math.min(next + 1, replies.length - 1);
    response.writeHead(status, headers).end(body);
  };
}

/** Verifies a call as a receiver does, and answers its body. Throws if the call was not signed with the receiver's secret. */
async function verified(received: Received | undefined): Promise<unknown> {
  const { headers = {}, body = "" } = received ?? {};
  const webhook = new Webhook(receiverSecret(await callbackSecret(), `http://${headers.host}`));
  return webhook.verify(body, headers as Record<string, string>);
}
