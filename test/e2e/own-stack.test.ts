import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DynamoDBClient, ListTablesCommand } from "@aws-sdk/client-dynamodb";
import { ListScheduleGroupsCommand, SchedulerClient } from "@aws-sdk/client-scheduler";
import { ListQueuesCommand, SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { DATA_FOLDER, type RunnerRecord, readRecord, recordFile } from "../../local/runner-record.ts";
import { receiverSecret } from "../../src/consumer/webhook/receiver-secret.ts";
import { type } from "../cli/command-line.ts";
import { sharedApi } from "./api.ts";
import { here } from "./here.ts";
import { callbackSecret } from "./services.ts";

const api = sharedApi();
const { skip, title } = here("local-commands", "in the folder of a running local stack");

describe.skipIf(skip)(title, () => {
  let folder: string;
  let record: RunnerRecord;
  let output: string;
  beforeAll(() => {
    const { log } = inject("target");
    output = "file" in log ? log.file : "";
    const from = dirname(output);
    folder = mkdtempSync(join(tmpdir(), "minutehand-"));
    const to = join(folder, DATA_FOLDER);
    mkdirSync(to, { mode: 0o700 });
    copyFileSync(recordFile(from), recordFile(to));
    record = readRecord(from) as RunnerRecord;
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  // Nothing answers at this address: the commands must find the stack by its folder.
  const env = { MINUTEHAND_URL: "https://queue.example.com" };
  const command = (...args: string[]) => type(undefined, args, { env, folder: join(folder, "src") });

  it("a command calls that stack", async () => {
    const { code, out, err } = await command("topics", "--json");
    expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining(`the local stack of ${folder}`) });
    expect(out).toContain('"topic":"reminders"');
  });

  it("event put enqueues a job as an event of the shop would", async () => {
    const key = `e2e-${crypto.randomUUID()}`;
    const event = ["--source", "minutehand.e2e", "--detail-type", "ReminderAsked"];
    const put = await command("event", "put", ...event, "--detail", JSON.stringify({ key }));
    expect(put).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^put event .*\nreminders enqueueOn: filed job /),
    });
    await expect.poll(async () => (await api.call("GET", `/topics/reminders/jobs/${key}`)).status).toBe(200);
  });

  it("event put says why a rule cannot use the event", async () => {
    const event = ["--source", "minutehand.e2e", "--detail-type", "ReminderAsked"];
    const { code, out, err } = await command("event", "put", ...event, "--detail", '{"text": "write"}');
    expect(out).toContain(
      "reminders enqueueOn: could not use the event: the key of a job of topic reminders, $.detail.key",
    );
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringContaining("1 of 1 rules could not use the event"),
    });
  });

  it("receiver-secret takes the secret of the topic from that stack", async () => {
    const url = "http://127.0.0.1:3000";
    const args = ["receiver-secret", url, "--topic", "callbacks"];
    const { code, out } = await type(undefined, args, { env: {}, folder });
    expect({ code, out }).toEqual({ code: 0, out: `${receiverSecret(await callbackSecret(), url)}\n` });
    const { code: refused, err } = await command(...args);
    expect({ code: refused, err }).toEqual({
      code: 2,
      err: expect.stringContaining(`MINUTEHAND_URL is not the local stack of ${folder}`),
    });
  });

  it("the record names the services' addresses, and the start those without the key of the run", async () => {
    const { dynamodb, sqs, scheduler, secretsManager, eventBridge, lambda } = record.endpoints;
    const settings = { region: "us-east-1", credentials: { accessKeyId: "any", secretAccessKey: "any" } };
    const tables = await new DynamoDBClient({ ...settings, endpoint: dynamodb }).send(
      new ListTablesCommand(),
    );
    expect(tables.TableNames).not.toEqual([]);
    const queues = await new SQSClient({ ...settings, endpoint: sqs }).send(new ListQueuesCommand());
    expect(queues.QueueUrls).toContainEqual(expect.stringContaining("reminders"));
    const groups = new SchedulerClient({ ...settings, endpoint: scheduler }).send(
      new ListScheduleGroupsCommand(),
    );
    expect((await groups).ScheduleGroups).not.toEqual([]);
    expect([scheduler, secretsManager, eventBridge, lambda]).toEqual(Array(4).fill(record.services));
    expect(readFileSync(output, "utf8")).toContain(
      `\nfor your programs: export MINUTEHAND_URL=${record.url}\nAWS services: DynamoDB ${dynamodb}, SQS ${sqs}; EventBridge, Scheduler, Secrets Manager, Lambda: see "endpoints" in `,
    );
  });
});
