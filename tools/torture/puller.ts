/** The program of a consumer of a pull topic: `puller.ts <URL of the API> <topic>`. */
import { setTimeout as sleep } from "node:timers/promises";
import { call } from "./call.ts";
import type { Body } from "./load.ts";
import { runJob } from "./run-job.ts";

type Pulled = { id: string; receipt: string; attempt: number; dueAt: string; body: Body; leaseUntil: string };

const PAUSE_MS = 200;
const WAIT_SECONDS = 5;

const [url = "", topic = ""] = process.argv.slice(2);
process.on("disconnect", () => process.exit());
for (;;) {
  const answer = await call(url, "POST", `/topics/${topic}/receive`, { max: 10, waitSeconds: WAIT_SECONDS });
  if (answer?.status !== 200) await sleep(PAUSE_MS);
  else await Promise.all((answer.body as { jobs: Pulled[] }).jobs.map(run));
}

async function run({ id, receipt, attempt, dueAt, body, leaseUntil }: Pulled): Promise<void> {
  const lease = Date.parse(leaseUntil);
  const how = await runJob({ id, attempt, dueAt: Date.parse(dueAt), leaseUntil: lease, body });
  if (how === "too late") return;
  const verb = how === "done" ? "finish" : "retry";
  // After the end of the lease the run counts as crashed anyway.
  while (Date.now() < lease) {
    const answer = await call(url, "POST", `/topics/${topic}/${verb}`, { receipt });
    if (answer && answer.status < 500) return;
    await sleep(PAUSE_MS);
  }
}
