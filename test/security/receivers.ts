import { startReceiver } from "../support/receiver.ts";

export type Receivers = {
  readonly url: string;
  readonly signatures: () => string[];
  readonly stop: () => Promise<void>;
};

/** What a call's body asks for, in the words of the app's reminders. */
type Asked = { fails?: string; bury?: string; retryIn?: string };

export async function startReceivers(): Promise<Receivers> {
  const receiver = await startReceiver((_, response) => {
    const { fails, bury, retryIn }: Asked = JSON.parse(receiver.received.at(-1)?.body ?? "{}");
    if (retryIn !== undefined) response.setHeader("retry-after", "3600");
    response.statusCode =
      bury !== undefined ? 410 : retryIn !== undefined ? 503 : fails !== undefined ? 500 : 204;
    response.end(bury ?? fails);
  });
  return {
    url: receiver.url,
    signatures: () => receiver.received.map(({ headers }) => String(headers["webhook-signature"])),
    stop: async () => receiver[Symbol.asyncDispose](),
  };
}
