import { expect, it } from "vitest";
import { createClient } from "../../src/client/http-client.ts";
import { apiUrl, connect, deploy, destroy, takeBack, until } from "./deployment.ts";
import { type Life, PRINCIPAL, TOKEN } from "./life.ts";

/** A delay that is longer than a deployment takes. */
const LATER = "60s";

async function works(id: string, topic: string): Promise<void> {
  const { client, ended } = await connect(id);
  const { id: job } = await client.enqueue(topic, {}, { delay: "1s" });
  expect((await ended(job)).state).toBe("done");
}

/** Waits until the tick has stopped the polling of the topic's queue, and has started it again after the resume. */
async function pausesAndResumes(id: string, topic: string): Promise<void> {
  const { pause, resume, isPolled } = await connect(id);
  await pause(topic);
  await until("Lambda still polls", async () => ((await isPolled(topic)) ? undefined : true));
  await resume(topic);
  await until("Lambda does not poll", async () => (await isPolled(topic)) || undefined);
  await works(id, topic);
}

// One stack's life: each test begins where the one before it ended.
let now: Life = { id: "Jobs", topics: ["mail"] };

it("a first deployment that fails half-way can be repeated", async () => {
  await expect(deploy({ ...now, isBroken: true })).rejects.toThrow(/Broken/);
  await deploy(now);
  await works("Jobs", "mail");
});

it("a topic removed and added again takes its queues back", async () => {
  now = { ...now, topics: ["mail", "refund"] };
  await deploy(now);
  await works("Jobs", "refund");
  await deploy({ ...now, topics: ["mail"] });
  await takeBack(now);
  await works("Jobs", "refund");
});

it("a consumer's timeout may be raised and lowered", async () => {
  for (const timeout of [300, 10]) {
    await deploy({ ...now, timeout });
    await works("Jobs", "mail");
  }
});

it("an alias may take the place of a consumer and give it back, and can be paused", async () => {
  await deploy({ ...now, hasAliases: true });
  await works("Jobs", "mail");
  await pausesAndResumes("Jobs", "mail");
  await deploy(now);
  await works("Jobs", "mail");
});

it("two queues in one account do not disturb each other", async () => {
  now = { ...now, hasSecond: true };
  await deploy(now);
  await works("Second", "letters");
  await works("Jobs", "mail");
});

it("after `cdk destroy`, a deployment with another id takes table and queues back, with the waiting jobs", async () => {
  const { client, table } = await connect("Jobs");
  const { id } = await client.enqueue("mail", {}, { delay: LATER });
  await destroy(now);
  now = { id: "Renamed", topics: ["mail", "refund"], table };
  await takeBack(now);
  const again = await connect("Renamed");
  expect(again.table).toBe(table);
  expect((await again.ended(id)).state).toBe("done");
});

it("an API behind an authorizer of the user's own takes calls with its token only, and names its principal", async () => {
  now = { ...now, hasApi: true };
  await deploy(now);
  const url = await apiUrl();
  const behind = (bearer: string) => createClient({ url, auth: { bearer }, retries: 0 });
  const forbidden = expect.objectContaining({ code: "forbidden" });
  await expect(behind("ey.other").enqueue("mail", {}, { delay: "1h" })).rejects.toEqual(forbidden);
  const { status } = await fetch(`${url}/health`);
  expect(status).toBe(401);
  const client = behind(TOKEN);
  const { id } = await client.enqueue("mail", {}, { delay: "1h" });
  await client.cancel(id);
  const { timeline } = (await client.get(id)) ?? {};
  expect(timeline?.at(-1)).toMatchObject({ event: "cancelled", by: { kind: "caller", name: PRINCIPAL } });
});
