import { type Client, createClient, directClient, MinutehandError } from "minutehand/client";

type Topics = { "order-timeout": { order: number }; refund: { refund: string } };

/** Calls that fit the user's own types of topics compile, and calls that do not fit them do not compile. */
export async function shop(url: string): Promise<string[]> {
  const client: Client<Topics> = createClient<Topics>({ url });
  const job = await client.enqueue("order-timeout", { order: 17 }, { delay: "30m", key: "order-17" });
  // @ts-expect-error: an order must be a number, not a text
  await client.enqueue("order-timeout", { order: "17" }, { delay: "30m" });
  // @ts-expect-error: there is no such topic
  await client.enqueue("order-timeouts", { order: 17 }, { delay: "30m" });
  const direct = directClient();
  const [pulled] = await client.receive("refund", { max: 1 });
  if (pulled !== undefined) await client.finish("refund", pulled.receipt);
  try {
    await direct.cancel(job.id);
  } catch (error) {
    if (error instanceof MinutehandError) return [error.code];
  }
  const ids: string[] = [];
  for await (const { id } of client.list({ topic: "refund" })) ids.push(id);
  return ids;
}
