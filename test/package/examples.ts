import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { EventBridgeClient, PutEventsCommand } from "@aws-sdk/client-eventbridge";
import { closeLater } from "../../examples/order-timeout/place-order.ts";
import { notifyMerchant } from "../../examples/payment-notice/notify-merchant.ts";
import type { Topics } from "../../examples/topics.ts";
import { LocalError } from "../../local/local-error.ts";
import { freePort } from "../../local/processes/free-port.ts";
import type { Job } from "../../src/client/answers.ts";
import { type Client, createClient } from "../../src/client/client.ts";
import { receiverSecret } from "../../src/consumer/webhook/receiver-secret.ts";
import { plainEnvironment, ROOT } from "../deploy/environment.ts";
import type { Server, Session } from "../deploy/session.ts";
import { PATIENCE_MS } from "../patience.ts";
import { startReceiver } from "../support/receiver.ts";
import { said } from "./said.ts";

const POLL_MS = 200;
const APP = "examples";
const MERCHANT = "merchant";

/** Runs the examples as their README says, with the package that is installed in `installed`, until each job has run. */
export async function playExamples(session: Session, installed: string): Promise<void> {
  session.progress(APP);
  const cwd = copyExamples(session, installed);
  const calls: string[] = [];
  await using shop = await startReceiver(({ url = "" }, response) => {
    calls.push(url);
    response.writeHead(200, { "content-type": "application/json" }).end('{"state":"settled","sent":true}');
  });
  const env = { ...plainEnvironment(), SHOP_URL: `http://127.0.0.1:${shop.port}` };
  const args = ["--no-install", "minutehand", "local", "--app", "node app.ts", "--port", "0"];
  const stack = session.serve({ name: APP, command: "npx", args, cwd, env });
  const [url = ""] = await said(session, APP, stack, /http:\/\/127\.0\.0\.1:\d+/);
  const client = createClient<Topics>({ url });
  const data = join(cwd, ".minutehand");
  const merchant = await startMerchant(session, { cwd, env, data });

  const paid = await closeLater(client, "18");
  await pay(data, "18");
  const notice = await notifyMerchant(client, { orderId: "17", amount: "12.50" }, `${merchant.url}/`);
  const jobs = await fileJobs(client);
  await playPrograms(session, client, { cwd, env, url });
  for (const { id } of [...jobs, notice]) await until(client, id, "done");
  await until(client, paid.id, "cancelled");
  await said(session, MERCHANT, merchant.server, new RegExp(`booked ${notice.id} .*12\\.50`));
  const wanted = ["/orders/17/close-unless-paid", "/refunds/r-1", "/shops/7/reminders"];
  if (calls.sort().join() !== wanted.join())
    throw new LocalError(`the shop must get the calls ${wanted.join(", ")}, got ${calls.join(", ")}`);
  await Promise.all([merchant.server.stop(), stack.stop()]);
}

function copyExamples(session: Session, installed: string): string {
  const folder = join(session.folder, APP);
  cpSync(join(ROOT, "examples"), folder, { recursive: true });
  symlinkSync(join(installed, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  return folder;
}

/** Starts the receiver of the payment notices. `data`: the folder with the data of the stack. */
async function startMerchant(
  session: Session,
  { cwd, env, data }: { cwd: string; env: NodeJS.ProcessEnv; data: string },
): Promise<{ url: string; server: Server }> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = session.serve({
    name: MERCHANT,
    command: process.execPath,
    args: [join("payment-notice", "receiver.ts")],
    cwd,
    env: { ...env, PORT: `${port}`, WEBHOOK_SECRET: receiverSecret(secretIn(data), url) },
  });
  await said(session, MERCHANT, server, /listens/);
  return { url, server };
}

/** In each language, the producer files a thumbnail and the worker makes it. In TypeScript, the client is the producer. */
async function playPrograms(
  session: Session,
  client: Client<Topics>,
  { cwd, env, url }: { cwd: string; env: NodeJS.ProcessEnv; url: string },
): Promise<void> {
  const commands = {
    python: (program: string) => ["python3", `${program}.py`] as const,
    go: (program: string) => ["go", "run", `./${program}`] as const,
  };
  const called = { ...env, MINUTEHAND_URL: url };
  for (const [language, commandOf] of Object.entries(commands)) {
    const run = (program: string, ...more: readonly string[]): Promise<void> => {
      const [command, ...args] = [...commandOf(program), ...more];
      return session.run({
        name: `${language} ${program}`,
        command,
        args,
        cwd: join(cwd, language),
        env: called,
      });
    };
    await run("producer", "file", `${language}.png`, "120", "1s");
    const { id } = await client.get({ topic: "thumbnail", key: `${language}.png` });
    await run("worker", "--once");
    await until(client, id, "done");
  }
  const { id } = await client.enqueue("thumbnail", { image: "pull.png", width: 120 }, { delay: 1 });
  const args = [join("pull", "worker.ts"), "--once"];
  await session.run({ name: "TypeScript worker", command: process.execPath, args, cwd, env: called });
  await until(client, id, "done");
}

async function fileJobs(client: Client<Topics>): Promise<{ id: string }[]> {
  return [
    await client.enqueue("receipt", { orderId: "17", cents: 1250 }, { delay: 0 }),
    await client.enqueue("order-timeout", { orderId: "17" }, { delay: 1 }),
    await client.enqueue("refund", { refundId: "r-1" }, { delay: 0 }),
    await client.enqueue("reminder", { shopId: "7" }, { delay: 0 }),
  ];
}

function secretIn(data: string): string {
  const secrets = JSON.parse(readFileSync(join(data, "secrets.json"), "utf8"));
  const [[version]] = Object.values(secrets) as [[{ value: string }]];
  return version.value;
}

async function pay(data: string, orderId: string): Promise<void> {
  const { services } = JSON.parse(readFileSync(join(data, "runner.json"), "utf8"));
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  const client = new EventBridgeClient({ endpoint: services, region: "us-east-1", credentials });
  const event = { Source: "shop", DetailType: "OrderPaid", Detail: JSON.stringify({ orderId }) };
  await client.send(new PutEventsCommand({ Entries: [event] }));
  client.destroy();
}

async function until(client: Client<Topics>, id: string, state: Job["state"]): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const job = await client.get(id);
    if (job.state === state) return;
    if (Date.now() > end) throw new LocalError(`job ${id} is not ${state}: ${JSON.stringify(job)}`);
    await sleep(POLL_MS);
  }
}
