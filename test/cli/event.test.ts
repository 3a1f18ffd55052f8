import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createAppliedEvents } from "../../local/services/applied-events.ts";
import { type AwsEndpoint, startAwsEndpoint } from "../../local/services/aws-endpoint.ts";
import { createEventBridgeService } from "../../local/services/event-bridge.ts";
import type { RuleEffect } from "../../src/core/rule-effects.ts";
import { startReceiver } from "../support/receiver.ts";
import { writeRunnerRecord } from "../support/runner-record.ts";
import { type Typed, type } from "./command-line.ts";
import { scriptAccount } from "./scripted-account.ts";

const PAID = ["event", "put", "--source", "shop", "--detail-type", "OrderPaid", "--detail"];
const AT = Date.parse("2026-03-01T09:00:00Z");

afterEach(() => vi.unstubAllEnvs());

describe("event put on a local stack", () => {
  let folder: string;
  let endpoint: AwsEndpoint;
  let sent: { queue: string; event: object }[];
  let url: string;
  /** What the topics' rules do with an event; absent: the function that applies events says nothing. */
  let effects: RuleEffect[] | undefined;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "minutehand-"));
    sent = [];
    effects = [];
    const applied = createAppliedEvents(50);
    const service = createEventBridgeService({ region: "us-east-1", account: "0", now: () => AT, applied });
    const applying = "arn:aws:sqs:us-east-1:0:shop_events";
    const placed = { bus: "default", sources: ["shop"], detailTypes: ["OrderPlaced"], queueArns: [applying] };
    const rule = (bus: string) => ({
      bus,
      sources: ["shop"],
      detailTypes: ["OrderPaid"],
      queueArns: [`arn:${bus}`],
    });
    service.start({
      rules: [rule("default"), rule("orders"), placed] as never,
      buses: ["orders"],
      applyingQueues: new Set([applying]),
      send: async (queue, body) => {
        const event = JSON.parse(body);
        sent.push({ queue, event });
        // Stands in for the log of the function that applies events.
        if (queue === applying)
          applied.heard({
            event: { type: "event-applied", service: "shop", event: event.id, rules: effects },
          });
      },
      log: () => {},
    });
    endpoint = await startAwsEndpoint(service.operations, { key: "of-this-run" });
    url = new URL(endpoint.url).origin;
    writeRunnerRecord(folder, { url, services: endpoint.url });
  });
  afterEach(async () => {
    await endpoint.stop();
    rmSync(folder, { recursive: true });
  });

  const put = (args: string[], typed: Typed = {}) => type(undefined, args, { env: {}, folder, ...typed });

  test("puts it on the default bus, and says which stack took it", async () => {
    const { code, out, err } = await put([...PAID, '{"orderId": 17}']);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const id =
      /^put event ([0-9a-f-]{36}) on the bus default of the local stack of (.*)\nsent to the queue default\n$/.exec(
        out,
      );
    expect(id?.[2]).toBe(folder);
    const event = { source: "shop", "detail-type": "OrderPaid", detail: { orderId: 17 } };
    expect(sent).toEqual([
      { queue: "arn:default", event: expect.objectContaining({ ...event, id: id?.[1] }) },
    ]);
  });

  test("says that no rule takes it, and exits with 0", async () => {
    const ofOtherSource = PAID.map((word) => (word === "shop" ? "shopp" : word));
    for (const args of [
      [...ofOtherSource, "{}"],
      [...PAID, "{}", "--bus", "unknown"],
    ]) {
      const { code, out, err } = await put(args);
      expect({ code, err }).toEqual({ code: 0, err: "no rule of this stack takes it\n" });
      expect(out).toMatch(/^put event /);
    }
    expect(sent).toEqual([]);
  });

  const PLACED = PAID.map((word) => (word === "OrderPaid" ? "OrderPlaced" : word));

  test("says what each rule did", async () => {
    effects = [
      { topic: "order-timeout", rule: "enqueueOn", did: "created", id: "01A" },
      { topic: "order-timeout", rule: "enqueueOn", did: "kept", id: "01B" },
      { topic: "mails", rule: "cancelOn", did: "cancelled", id: "01C" },
      { topic: "mails", rule: "cancelOn", did: "cancelling", id: "01D" },
      { topic: "mails", rule: "cancelOn", did: "no-job", until: AT },
      { topic: "mails", rule: "cancelOn", did: "no-job" },
      { topic: "mails", rule: "cancelOn", did: "nothing" },
      { topic: "mails", rule: "enqueueOn", did: "waits" },
    ];
    const { code, out, err } = await put([...PLACED, "{}"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out.split("\n").slice(1)).toEqual([
      "order-timeout enqueueOn: filed job 01A",
      "order-timeout enqueueOn: kept job 01B",
      "mails cancelOn: cancelled job 01C",
      "mails cancelOn: job 01D runs, and does not run again after this run",
      "mails cancelOn: found no job with the key; one that is filed before 2026-03-01T09:00:00.000Z is cancelled",
      "mails cancelOn: found no job with the key",
      "mails cancelOn: changed nothing: this event or a later one had its effect before",
      "mails enqueueOn: waits, because the job with the key runs",
      "",
    ]);
    expect((await put([...PLACED, "{}", "--json"])).lines).toMatchObject([{ rules: effects, queues: [] }]);
  });

  test("fails if a rule cannot use it, and says why", async () => {
    effects = [
      { topic: "mails", rule: "cancelOn", did: "cancelled", id: "01C" },
      { topic: "order-timeout", rule: "enqueueOn", did: "failed", error: "$.detail.orderId, got nothing" },
    ];
    const { code, out, err } = await put([...PLACED, "{}"]);
    expect(code).toBe(1);
    expect(out).toContain(
      "order-timeout enqueueOn: could not use the event: $.detail.orderId, got nothing\n",
    );
    expect(err).toBe("minutehand: 1 of 2 rules could not use the event: SQS delivers it again for an hour\n");
  });

  test("fails if the function that applies events says nothing", async () => {
    effects = undefined;
    expect(await put([...PLACED, "{}"])).toMatchObject({
      code: 1,
      err: "minutehand: the rules have not said what they did: see the log of the local stack\n",
    });
  });

  test("puts it on the bus of --bus, and takes its detail from stdin or a file", async () => {
    const detail = join(folder, "paid.json");
    writeFileSync(detail, '{"orderId": 18}');
    const answers = [
      await put([...PAID, "-", "--bus", "orders", "--json"], { input: '{"orderId": 17}' }),
      await put([...PAID, `@${detail}`, "--json"]),
    ];
    expect(answers.map(({ code, lines }) => [code, lines])).toEqual([
      [0, [{ eventId: expect.any(String), bus: "orders", rules: [], queues: ["orders"] }]],
      [0, [{ eventId: expect.any(String), bus: "default", rules: [], queues: ["default"] }]],
    ]);
    expect(sent).toMatchObject([
      { queue: "arn:orders", event: { detail: { orderId: 17 } } },
      { queue: "arn:default", event: { detail: { orderId: 18 } } },
    ]);
  });

  test("also finds the bus if --url names the stack of the folder", async () => {
    expect((await put([...PAID, "{}", "--url", url])).code).toBe(0);
    expect(sent).toHaveLength(1);
  });

  test("goes to no other place if --url names another local stack, whose bus only its folder knows", async () => {
    const { code, err } = await put([...PAID, "{}", "--url", "http://127.0.0.1:2"]);
    expect(code).toBe(2);
    expect(err).toMatch(/^minutehand: only its own folder knows the bus of the local stack at http:\/\/127/);
    expect(sent).toEqual([]);
  });

  test.each([
    ["[1]", "--detail must be a JSON object, because the detail of an event is one"],
    ["{", "--detail must be JSON, @file, or - to read stdin"],
  ])("refuses the detail %s", async (detail, error) => {
    const { code, err } = await put([...PAID, detail]);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(error) });
    expect(sent).toEqual([]);
  });

  test("fails if the bus refuses the event", async () => {
    const args = ["event", "put", "--source", "aws.s3", "--detail-type", "x", "--detail", "{}"];
    expect(await put(args)).toMatchObject({
      code: 1,
      err: `minutehand: the local stack of ${folder} refused the event: NotAuthorizedForSourceException: Not authorized for the source.\n`,
    });
    const nameless = await put([...PAID, "{}", "--bus", ""]);
    expect(nameless).toMatchObject({
      code: 1,
      err: expect.stringContaining(
        `the local stack of ${folder} refused AWSEvents.PutEvents: 1 validation error`,
      ),
    });
  });
});

test("event put with --stack puts the event on AWS, signed with the user's credentials for the queue's region", async () => {
  const api = "https://abc.execute-api.eu-west-1.amazonaws.com";
  await using _ = await scriptAccount({
    stacks: { Shop: { status: "UPDATE_COMPLETE", outputs: [{ key: "ApiUrl", value: api }] } },
  });
  await using bridge = await startReceiver((_, response) =>
    response.end(JSON.stringify({ FailedEntryCount: 0, Entries: [{ EventId: "e-1" }] })),
  );
  vi.stubEnv("AWS_ENDPOINT_URL_EVENTBRIDGE", `http://127.0.0.1:${bridge.port}`);
  const { code, out, err } = await type(undefined, [...PAID, '{"orderId": 17}', "--stack", "Shop"], {
    env: {},
  });
  expect(err).toContain("EventBridge does not say which rules match");
  expect({ code, out }).toEqual({ code: 0, out: "put event e-1 on the bus default of EventBridge\n" });
  const [{ headers, body }] = bridge.received as [(typeof bridge.received)[number]];
  expect(headers.authorization).toContain("/eu-west-1/events/aws4_request");
  expect(JSON.parse(body)).toEqual({
    Entries: [{ Source: "shop", DetailType: "OrderPaid", Detail: '{"orderId":17}' }],
  });
});

test("event put with --url puts the event in the queue's region, although the API takes a token", async () => {
  await using _ = await scriptAccount({});
  await using bridge = await startReceiver((_, response) =>
    response.end(JSON.stringify({ FailedEntryCount: 0, Entries: [{ EventId: "e-1" }] })),
  );
  vi.stubEnv("AWS_ENDPOINT_URL_EVENTBRIDGE", `http://127.0.0.1:${bridge.port}`);
  const api = "https://abc.execute-api.ap-south-1.amazonaws.com";
  const env = { MINUTEHAND_TOKEN: "ey.secret" };
  expect((await type(undefined, [...PAID, "{}", "--url", api], { env })).code).toBe(0);
  expect(bridge.received[0]?.headers.authorization).toContain("/ap-south-1/events/aws4_request");
});
