import { DynamoDBClient, ScanCommand, TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";
import { ERROR_BYTES } from "../../src/core/constants.ts";
import { decodeReceipt } from "../../src/core/receipt.ts";
import { splitPlace } from "../../src/core/thrown.ts";
import { MINUTE } from "../support/world.ts";
import { type Deployment, MARK } from "./deployment.ts";
import { createScenes, marked } from "./scenes.ts";

async function saidBy({ output }: Deployment, work: () => Promise<unknown>): Promise<string> {
  const before = output().length;
  await work();
  return output().slice(before);
}

/** An error of AWS as the SDK throws it. It carries the items that failed a condition, and the response. */
function carrying(code: string): TransactionCanceledException {
  const message = `Transaction cancelled, please refer cancellation reasons for specific reasons [${code}]`;
  const CancellationReasons = [{ Code: code, Item: { body: { S: JSON.stringify(marked()) } } }];
  const error = new TransactionCanceledException({ message, CancellationReasons, $metadata: {} });
  return Object.assign(error, { $response: { statusCode: 400, body: MARK } });
}

async function failing(
  deployment: Deployment,
  operation: string,
  error: Error,
  work: () => Promise<unknown>,
): Promise<string> {
  deployment.recorder.before = (request) => {
    if (request.operation === operation) throw error;
  };
  const said = await saidBy(deployment, work);
  deployment.recorder.before = () => {};
  return said;
}

const STEPS = [
  ..."enqueued moved cancelled handed-over hand-over-failed started dropped paused parked resumed released".split(
    " ",
  ),
  ..."done threw failed dead expired swept audited trouble".split(" "),
];

export function testLogs(deployed: () => Deployment): void {
  testEveryPath(deployed);
  testSecrets(deployed);
  testErrorsOfDynamo(deployed);
  testErrorsOfOthers(deployed);
  testTexts(deployed);
  testErrorsOfHandlers(deployed);
}

function testEveryPath(deployed: () => Deployment): void {
  describe("what every path logs:", () => {
    test("every step of every job was logged and measured", () => {
      const output = deployed().output();
      for (const type of STEPS) expect(output).toContain(`"message":"job ${type}"`);
      expect(output).toContain('"Namespace":"Minutehand"');
    });

    test("no body, header, key, tag, group, callback URL, Idempotency-Key or AWS secret is in any of it", () => {
      const output = deployed().output();
      const at = output.indexOf(MARK);
      expect(at === -1 ? "" : output.slice(Math.max(at - 500, 0), at + 100)).toBe("");
    });
  });
}

function testSecrets(deployed: () => Deployment): void {
  describe("the secrets that every path uses:", () => {
    test("no receipt, claim's token or message's handle is in any of it, because a reader could settle jobs with them", async () => {
      const { table, output, recorder } = deployed();
      const { Items = [] } = await new DynamoDBClient().send(new ScanCommand({ TableName: table }));
      const secrets = [
        ...deployed().receipts.flatMap((receipt) => [
          receipt,
          decodeReceipt(receipt)?.token,
          decodeReceipt(receipt)?.handle,
        ]),
        ...Items.map(({ token }) => token?.S),
        ...recorder.requests.flatMap(({ input }) => {
          const entries = (input.Entries ?? []) as { ReceiptHandle?: string }[];
          return entries.map(({ ReceiptHandle }) => ReceiptHandle);
        }),
      ].flatMap((secret) => secret ?? []);
      expect(secrets.length).toBeGreaterThan(20);
      expect(secrets.filter((secret) => output().includes(secret))).toEqual([]);
    });

    test("no secret of a webhook, neither the current one nor the one before, and no signature is in any of it", () => {
      const { output, receivers, secrets } = deployed();
      const signatures = receivers.signatures().flatMap((both) => both.split(" "));
      expect(secrets.map((secret) => secret.length)).toEqual([44, 44]);
      expect(signatures.length).toBeGreaterThan(10);
      const told = [...secrets, ...signatures].filter((secret) => output().includes(secret));
      expect(told).toEqual([]);
    });
  });
}

function testErrorsOfDynamo(deployed: () => Deployment): void {
  const scenes = () => createScenes(deployed());
  describe("errors of DynamoDB and SQS:", () => {
    test.each([
      ["refuses a transaction", "TransactWriteItems", "ConditionalCheckFailed", "POST"],
      ["fails a transaction", "TransactWriteItems", "ValidationError", "POST"],
      ["fails an update", "UpdateItem", "ValidationError", "PATCH"],
    ])(
      "an error by which DynamoDB %s is logged without the items it carries",
      async (_, operation, code, method) => {
        const { id } = await scenes().file("orders", { dueAt: Date.now() + 3_600_000 });
        const job = { topic: "orders", delay: "1h", body: marked(), key: scenes().newKey() };
        const said = await failing(deployed(), operation, carrying(code), async () => {
          const { status } = await (method === "POST"
            ? deployed().call(method, "/jobs", job)
            : deployed().call(method, `/jobs/${id}`, { body: marked() }));
          expect(status).toBe(method === "POST" ? 503 : 500);
        });
        expect(said).toMatch(/"level":"(ERROR|WARN)"/);
        expect(said).not.toContain(MARK);
      },
    );

    test("errors of a consumer's, a pull's and a tick's calls are logged without what they carry", async () => {
      const { consume, call, tick } = deployed();
      const home = await scenes().file("orders");
      const error = carrying("ValidationError");
      const consumed = () => consume("orders", [scenes().messageFor(home)], 2_000);
      for (const work of [consumed, () => call("POST", "/topics/work/receive", {}), tick]) {
        for (const operation of ["BatchExecuteStatement", "GetItem", "ReceiveMessage", "Query"]) {
          const said = await failing(deployed(), operation, error, () => work().catch(() => {}));
          expect(said).not.toContain(MARK);
        }
      }
    });
  });
}

function testErrorsOfOthers(deployed: () => Deployment): void {
  const scenes = () => createScenes(deployed());
  describe("errors of other services:", () => {
    test("errors of Scheduler's, Lambda's and Secrets Manager's calls are logged without what they carry", async () => {
      const { call, consume, pass } = deployed();
      const error = carrying("InternalServerException");
      const schedule = { topic: "orders", body: marked(), expression: "rate(1 hour)" };
      const far = { topic: "orders", body: marked(), delay: "30d" };
      const hook = await scenes().file("hooks");
      // Then the function no longer trusts the secret that it has read, and reads it again.
      pass(6 * 60_000);
      const works: [string, () => Promise<unknown>][] = [
        ["GetSchedule", () => call("PUT", "/schedules/a", schedule)],
        ["CreateSchedule", () => call("PUT", "/schedules/a", schedule)],
        ["CreateSchedule", () => call("POST", "/jobs", far)],
        ["ListSchedules", () => call("GET", "/schedules")],
        ["UpdateEventSourceMapping", () => call("POST", "/topics/orders/pause")],
        ["UpdateEventSourceMapping", () => call("POST", "/topics/orders/resume")],
        ["GetSecretValue", () => consume("hooks", [scenes().messageFor(hook)])],
      ];
      for (const [operation, work] of works) {
        const said = await failing(deployed(), operation, error, work);
        expect({ operation, said }).toMatchObject({ said: expect.stringMatching(/"level":"(ERROR|WARN)"/) });
        expect(said).not.toContain(MARK);
      }
    });
  });
}

function testTexts(deployed: () => Deployment): void {
  const scenes = () => createScenes(deployed());
  describe("texts of users:", () => {
    test.each([
      ["JSON that ends early", `{"topic":"orders","body":"${MARK}`],
      ["no JSON", MARK],
      ["an unknown field", `{"topic":"orders","delay":0,"body":1,"${MARK}":"${MARK}"}`],
      [
        "a callback URL with a password",
        `{"topic":"hooks","delay":0,"body":1,"callbackUrl":"https://a:${MARK}@shop.example"}`,
      ],
      [
        "a callback URL that is not public",
        `{"topic":"hooks","delay":0,"body":1,"callbackUrl":"https://10.0.0.1/?${MARK}"}`,
      ],
      ["a number too long", `{"topic":"orders","delay":0,"body":{"${MARK}":12345678901234567890}}`],
    ])("a refused request is not logged: %s", async (_, text) => {
      expect(await saidBy(deployed(), () => deployed().call("POST", "/jobs", text))).toBe("");
    });

    test("a stored body that is no JSON is not quoted", async () => {
      const home = await scenes().file("orders", { body: `${MARK} no JSON`, dueAt: Date.now() + 3_600_000 });
      const said = await saidBy(deployed(), () => deployed().call("GET", `/jobs/${home.id}`));
      expect(said).toContain(home.id);
      expect(said).not.toContain(MARK);
    });

    test.each([
      ["that nobody listens to", "http://127.0.0.1:1/"],
      ["that its topic does not allow", "https://10.0.0.1/"],
      ["that is malformed", "https://["],
    ])("a callback URL %s is not quoted", async (_, url) => {
      const home = await scenes().file("hooks", { maxAttempts: 1 });
      const message = scenes().messageFor({ ...home, callbackUrl: `${url}?${MARK}` });
      const said = await saidBy(deployed(), () => deployed().consume("hooks", [message]));
      expect(said).toContain('"message":"job dead"');
      expect(said).not.toContain(MARK);
    });
  });
}

function testErrorsOfHandlers(deployed: () => Deployment): void {
  const scenes = () => createScenes(deployed());
  describe("errors of handlers:", () => {
    test.each(["orders", "notes", "hooks"] as const)(
      "the error of a handler of %s is logged when its job dies, and is cut: the handler must keep secrets out of it",
      async (topic) => {
        // Earlier tests resumed topics. A limited topic gives no start before Lambda polls its queue again, so these jobs would get later
        // starts.
        scenes().pass(4 * MINUTE);
        const body = JSON.stringify(marked({ fails: "no bank ".repeat(1000) }));
        const home = await scenes().file(topic, { body, maxAttempts: 1 });
        const said = await saidBy(deployed(), () => deployed().consume(topic, [scenes().messageFor(home)]));
        const dead = said.split("\n").filter((line) => line.includes('"job dead"'));
        const words = `${topic === "hooks" ? "HTTP 500: " : ""}${"no bank ".repeat(1000)}`;
        const [{ error, ...record }, ...more] = dead.map((line) => JSON.parse(line));
        expect(record).toMatchObject({ level: "WARN", id: home.id });
        expect(more).toEqual([]);
        const [text, place] = splitPlace(error);
        expect(text).toBe(words.slice(0, ERROR_BYTES - place.length));
        expect(place).toMatch(topic === "hooks" ? /^$/ : /^ \(functions\/reminders\.ts:\d+\)$/);
        expect(said).not.toContain(MARK);
      },
    );
  });
}
