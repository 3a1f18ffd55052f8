import { App, Stack } from "aws-cdk-lib";
import { AccountRootPrincipal } from "aws-cdk-lib/aws-iam";
import { DelayQueue } from "minutehand/cdk";
import { type Client, createClient, type DirectClient, type DirectWorker, pull } from "minutehand/client";
import { consumer } from "minutehand/consumer";
import { createTestQueue } from "minutehand/testing";
import * as z from "zod/mini";
import type { Topics } from "./topics.ts";

// What must not compile. Each comment has a part of the error that the next statement must give.

export async function wrongJobs(client: Client<Topics>, untyped: Client): Promise<void> {
  // '"order"' is not assignable to parameter of type '"order-timeout" | "refund"'.
  await client.enqueue("order", { orderId: "17" }, { delay: 1 });
  // 'refundId' does not exist in type '{ orderId: string; }'.
  await client.enqueue("order-timeout", { refundId: "r-1" }, { delay: 1 });
  // is not assignable to parameter of type 'EnqueueArguments<NoInfer<Topics>>'.
  await untyped.enqueue<Topics>("order-timeout", { refundId: "r-1" }, { delay: 1 });
  // Argument of type '{}' is not assignable to parameter of type 'DelayOrDueAt & EnqueueSettings'.
  await client.enqueue("order-timeout", { orderId: "17" }, {});
  // Property 'delay' is missing in type '{ key: string; }'
  await client.enqueue("order-timeout", { orderId: "17" }, { key: "order-17" });
  // Type 'Date' is not assignable to type '"give delay or dueAt, not both"'.
  await client.enqueue("order-timeout", { orderId: "17" }, { delay: 1, dueAt: new Date() });
  // 'delai' does not exist in type 'DelayOrDueAt & EnqueueSettings'. Did you mean to write 'delay'?
  await client.enqueue("order-timeout", { orderId: "17" }, { delai: 1 });
  // '"order"' is not assignable to parameter of type '"order-timeout" | "refund"'.
  await client.put("order", "key", { delay: 1, body: { orderId: "17" } });
  // 'refundId' does not exist in type '{ orderId: string; }'.
  await client.put("order-timeout", "key", { delay: 1, body: { refundId: "r-1" } });
  // Property 'delay' is missing in type '{ body: { orderId: string; }; }'
  await client.put("order-timeout", "key", { body: { orderId: "17" } });
  // '"order"' is not assignable to type '"order-timeout" | "refund"'.
  await client.enqueueMany([{ topic: "order", body: { orderId: "17" }, delay: 1 }]);
  // 'refundId' does not exist in type '{ orderId: string; }'.
  await client.enqueueMany([{ topic: "order-timeout", body: { refundId: "r-1" }, delay: 1 }]);
  // Property 'delay' is missing in type '{ topic: "order-timeout"; body: { orderId: string; }; }'
  await client.enqueueMany([{ topic: "order-timeout", body: { orderId: "17" } }]);
  // 'text' does not exist in type '{ orderId: string; } | { refundId: string; }'.
  await client.reschedule("id", { body: { text: "17" } });
  // Type 'Date' is not assignable to type '"give delay or dueAt, not both"'.
  await client.reschedule("id", { delay: 1, dueAt: new Date() });
}

export async function wrongTimes(client: Client<Topics>, untyped: Client, text: string): Promise<void> {
  // is not assignable to parameter of type '{ orderId: string; } & "give the time as the third argument: { delay } or { dueAt }"'.
  await client.enqueue("order-timeout", { orderId: "17" });
  // is not assignable to parameter of type '{ n: number; } & "give the time as the third argument: { delay } or { dueAt }"'.
  await untyped.enqueue(text, { n: 17 });
  // Argument of type 'any' is not assignable to parameter of type 'never'.
  await untyped.enqueue(text, JSON.parse(text));
  // Type '"30 minutes"' is not assignable to type 'Duration'.
  await client.enqueue("order-timeout", { orderId: "17" }, { delay: "30 minutes" });
  // Type '"1.5h"' is not assignable to type 'Duration'.
  await client.reschedule("id", { delay: "1.5h" });
  // Type '"30m1h"' is not assignable to type 'Duration | undefined'.
  await client.redrive("refund", { delay: "30m1h" });
  // Type 'string' is not assignable to type 'Duration'.
  await client.put("order-timeout", "key", { delay: text, body: { orderId: "17" } });
}

export async function wrongNamesOfJobs(client: Client<Topics>): Promise<void> {
  // '"order"' is not assignable to type '"order-timeout" | "refund"'.
  await client.get({ topic: "order", key: "key" });
  // 'text' does not exist in type '{ refundId: string; }'.
  await client.reschedule({ topic: "refund", key: "key" }, { body: { text: "17" } });
  // 'id' does not exist in type 'JobByKey<"order-timeout" | "refund">'.
  await client.cancelIfWaiting({ id: "17" });
  // '"order"' is not assignable to type '"order-timeout" | "refund"'.
  await client.cancel({ topic: "order", key: "key" });
  // Property 'refundId' does not exist on type '{ orderId: string; }'.
  (await client.get({ topic: "order-timeout", key: "key" })).body.refundId;
}

export async function wrongTopics(client: Client<Topics>): Promise<void> {
  // '"order"' is not assignable to type '"order-timeout" | "refund" | undefined'.
  client.list({ topic: "order" });
  // '"order"' is not assignable to type '"order-timeout" | "refund" | undefined'.
  client.forecast({ topic: "order" });
  // '"order"' is not assignable to type '"order-timeout" | "refund"'.
  await client.bulk({ action: "cancel", topic: "order" });
  // '"order"' is not assignable to parameter of type '"order-timeout" | "refund"'.
  await client.topic("order");
  // '"order"' is not assignable to parameter of type '"order-timeout" | "refund"'.
  await client.pause("order");
  // '"order"' is not assignable to parameter of type '"order-timeout" | "refund"'.
  await client.resume("order");
  // '"order"' is not assignable to parameter of type '"order-timeout" | "refund"'.
  client.dead("order");
  // '"order"' is not assignable to parameter of type '"order-timeout" | "refund"'.
  await client.redrive("order");
  // '"order"' is not assignable to type '"order-timeout" | "refund"'.
  await client.putSchedule("daily", { expression: "rate(1 day)", topic: "order", body: { orderId: "17" } });
  // 'text' does not exist in type '{ refundId: string; }'.
  await client.putSchedule("daily", { expression: "rate(1 day)", topic: "refund", body: { text: "17" } });
  // '"order"' is not assignable to parameter of type '"order-timeout" | "refund"'.
  await client.receive("order");
  // '"order"' is not assignable to parameter of type '"order-timeout" | "refund"'.
  await client.finish("order", "receipt");
  // '"order"' is not assignable to parameter of type '"order-timeout" | "refund"'.
  await client.extend("order", "receipt", 1);
  // '"order"' is not assignable to parameter of type '"order-timeout" | "refund"'.
  await client.retry("order", "receipt");
  // '"order"' is not assignable to parameter of type '"order-timeout" | "refund"'.
  await client.bury("order", "receipt");
}

export async function ungranted(worker: DirectWorker<Topics>, producer: DirectClient<Topics>): Promise<void> {
  const { signal: stop } = new AbortController();
  // '"order"' is not assignable to parameter of type '"order-timeout" | "refund"'.
  await worker.receive("order");
  // '"order"' is not assignable to parameter of type '"order-timeout" | "refund"'.
  await pull(worker, "order", () => {}, { stop });
  // Property 'orderId' does not exist on type '{ refundId: string; }'.
  await pull(worker, "refund", ({ body }) => body.orderId, { stop });
  // Argument of type 'DirectClient<Topics>' is not assignable
  await pull(producer, "refund", () => {}, { stop });
  // Property 'enqueue' does not exist on type 'DirectWorker<Topics>'.
  await worker.enqueue("refund", { refundId: "r-1" }, { delay: 1 });
  // Property 'get' does not exist on type 'DirectWorker<Topics>'.
  await worker.get("id");
  // Property 'receive' does not exist on type 'DirectClient<Topics>'.
  await producer.receive("refund");
}

// '"order"' does not satisfy the constraint '"order-timeout" | "refund"'.
consumer<Topics, "order">(() => {});
// Property 'refundId' does not exist on type '{ orderId: string; }'.
consumer<Topics, "order-timeout">((job) => job.body.refundId);
// Property 'refundId' does not exist on type '{ orderId: string; }'.
consumer<Topics, keyof Topics>((job) => job.topic === "order-timeout" && job.body.refundId);

// Property 'getTime' does not exist on type 'string'.
consumer<{ at: Date }>((job) => job.body.at.getTime());
// Property 'size' does not exist on type 'never'.
consumer<{ tags: Set<string> }>((job) => job.body.tags.size);
const schemas = { "order-timeout": z.object({ orderId: z.string() }) };
// Property 'refundId' does not exist on type '{ orderId: string; }'.
consumer((job) => job.body.refundId, { schema: schemas["order-timeout"] });
const checked = createClient({ url: "http://127.0.0.1:4500", schemas });
// '"order"' is not assignable to parameter of type '"order-timeout"'.
checked.enqueue("order", { orderId: "17" }, { delay: 1 });
// 'refundId' does not exist in type '{ orderId: string; }'.
checked.enqueue("order-timeout", { refundId: "17" }, { delay: 1 });

const pulled = { consumer: "pull" } as const;
// Property 'refundId' does not exist on type '{ orderId: string; }'.
createTestQueue<Topics>({
  topics: { refund: pulled, "order-timeout": { handler: (job) => job.body.refundId } },
});
const other = consumer<{ mail: string }>(() => {});
// Type 'Consumer<{ mail: string; }>' is not assignable
createTestQueue<Topics>({ topics: { refund: pulled, "order-timeout": { handler: other } } });
// Property 'refund' is missing in type '{ "order-timeout": { readonly consumer: "pull"; }; }'
createTestQueue<Topics>({ topics: { "order-timeout": pulled } });

const stack = new Stack(new App());
// Property 'refund' is missing in type '{ "order-timeout": {}; }'
new DelayQueue<Topics>(stack, "A", { topics: { "order-timeout": {} } });
// 'order' does not exist in type '{ readonly "order-timeout": TopicProps; readonly refund: TopicProps; }'.
new DelayQueue<Topics>(stack, "B", { topics: { "order-timeout": {}, refund: {}, order: {} } });
const queue = new DelayQueue<Topics>(stack, "C", { topics: { "order-timeout": {}, refund: {} } });
// '"order"' is not assignable to parameter of type '"order-timeout" | "refund"'.
queue.addHandler("order", "order.ts");
// '"order"' is not assignable to parameter of type '"order-timeout" | "refund"'.
queue.grantPull("order", new AccountRootPrincipal());
