import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Client } from "../../src/client/client.ts";
import { createClient } from "../../src/client/http-client.ts";
import { ROOT } from "../deploy/environment.ts";
import { adaptToMiniStack } from "../deploy/ministack-template.ts";
import { startReceiver } from "../support/receiver.ts";
import { until } from "./deployment.ts";

const run = promisify(execFile);
const STACK = "Plain";
const BUCKET = "minutehand-plain-code";
const ALARM_TOPIC = "arn:aws:sns:us-east-1:000000000000:on-call";
const CONFIG = {
  stackName: STACK,
  prefix: "plain",
  removable: true,
  alarmTopic: { parameter: "AlarmTopicArn" },
  topics: {
    work: { consumer: "pull" },
    calls: { webhook: { allowHttp: true, allowHosts: ["127.0.0.1"] } },
  },
};

let folder: string;
let client: Client;
let outputs: Readonly<Record<string, string>>;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "minutehand-plain-"));
  await aws("s3", "mb", `s3://${BUCKET}`);
});
afterAll(() => rmSync(folder, { recursive: true }));

const aws = async (...args: readonly string[]): Promise<string> =>
  (await run(process.env.MINUTEHAND_AWS_CLI ?? "aws", [...args], { cwd: folder })).stdout;

/** Deploys as the guide says. The template is only adapted to MiniStack. */
async function deploy(config: object): Promise<void> {
  writeFileSync(join(folder, "minutehand.json"), JSON.stringify(config));
  const program = join(ROOT, "src/cli/main.ts");
  rmSync(join(folder, "deploy"), { recursive: true, force: true });
  await run(process.execPath, [program, "template", "--out", "deploy"], { cwd: folder });
  adaptToMiniStack(join(folder, "deploy", "template.json"));
  const to = ["--s3-bucket", BUCKET];
  await aws(
    ...["cloudformation", "package", "--template-file", "deploy/template.json", ...to],
    ...["--use-json", "--output-template-file", "packaged.json"],
  );
  await aws(
    ...["cloudformation", "deploy", "--template-file", "packaged.json", "--stack-name", STACK, ...to],
    ...["--capabilities", "CAPABILITY_IAM", "--parameter-overrides", `AlarmTopicArn=${ALARM_TOPIC}`],
  );
}

async function readOutputs(): Promise<Record<string, string>> {
  const described = JSON.parse(await aws("cloudformation", "describe-stacks", "--stack-name", STACK));
  const pairs: { OutputKey: string; OutputValue: string }[] = described.Stacks[0].Outputs;
  return Object.fromEntries(pairs.map(({ OutputKey, OutputValue }) => [OutputKey, OutputValue]));
}

const ended = (id: string) =>
  until(`job ${id} has not ended`, async () => {
    const job = await client.get(id);
    return job?.state === "done" || job?.state === "dead" ? job : undefined;
  });

// One stack's life: each test begins where the one before it ended.
it("the AWS CLI packages and deploys the folder, with a value for its parameter", async () => {
  await deploy(CONFIG);
  outputs = await readOutputs();
  expect(Object.keys(outputs).sort()).toEqual(["ApiArn", "ApiUrl", "CallsSecretArn", "TableName"]);
  const packaged = readFileSync(join(folder, "packaged.json"), "utf8");
  expect(packaged).not.toContain("./functions");
  // `receiver-secret`, `restore` and `doctor` read the deployed template.
  expect(Object.keys(JSON.parse(packaged))).toContain("Resources");
  const id = /https:\/\/(\w+)\./.exec(outputs.ApiUrl ?? "")?.[1];
  // MiniStack serves the stack's API at this path under its own address.
  const url = `${process.env.AWS_ENDPOINT_URL}/_aws/execute-api/${id}/$default`;
  client = createClient({ url, auth: "iam", region: "us-east-1" });
});

it("a pulled job and a webhook's job run", async () => {
  const job = await client.enqueue("work", { n: 1 }, { delay: "1s" });
  const pulled = await client.receive("work", { waitSeconds: 20 });
  expect(pulled).toMatchObject([{ id: job.id, body: { n: 1 } }]);
  await client.finish("work", pulled[0]?.receipt ?? "");
  expect((await ended(job.id)).state).toBe("done");
  await using receiver = await startReceiver((_, response) => response.writeHead(204).end());
  const call = await client.enqueue("calls", { paid: 17 }, { delay: "1s", callbackUrl: receiver.url });
  expect((await ended(call.id)).state).toBe("done");
  expect(receiver.received.map(({ body }) => body)).toEqual(['{"paid":17}']);
});

it("a changed file changes the stack, and keeps its jobs", async () => {
  const { id } = await client.enqueue("work", { n: 2 }, { delay: "1h" });
  await deploy({ ...CONFIG, topics: { ...CONFIG.topics, more: { consumer: "pull" } } });
  expect(await readOutputs()).toEqual(outputs);
  expect((await client.get(id))?.state).toBe("scheduled");
  const { id: other } = await client.enqueue("more", {}, { delay: "1h" });
  expect((await client.get(other))?.topic).toBe("more");
});

it("the stack can be deleted", async () => {
  await aws("cloudformation", "delete-stack", "--stack-name", STACK);
  await aws("cloudformation", "wait", "stack-delete-complete", "--stack-name", STACK);
  await expect(readOutputs()).rejects.toThrow(/does not exist/);
});
