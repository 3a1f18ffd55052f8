import { isJobId } from "./job-id.ts";

/** What a pulled job is settled by. `token` is the proof; an untracked job has none. */
export type Receipt = {
  v: 1;
  id: string;
  revision: number;
  attempt: number;
  token?: string;
  /** Of an untracked job, which has no home that says so. */
  topic?: string;
  /** Of an untracked job, ms since the epoch: SQS hides its message for 12 h from then on. */
  receivedAt?: number;
  handle: string;
};

export function encodeReceipt(receipt: Receipt): string {
  return Buffer.from(JSON.stringify(receipt)).toString("base64url");
}

// As `drawToken` and SQS write them: anything else was made up, and DynamoDB or SQS might not take it.
const TOKEN = /^[\w-]{1,64}$/;
const HANDLE = /^[!-~]{1,4096}$/;

/** The receipt that `text` is, `undefined` for garbage. */
export function decodeReceipt(text: string): Receipt | undefined {
  try {
    const value = JSON.parse(Buffer.from(text, "base64url").toString()) as Partial<Receipt>;
    const fits =
      value.v === 1 &&
      typeof value.id === "string" &&
      isJobId(value.id) &&
      Number.isInteger(value.revision) &&
      Number.isInteger(value.attempt) &&
      typeof value.handle === "string" &&
      HANDLE.test(value.handle) &&
      (value.topic === undefined || typeof value.topic === "string") &&
      (value.receivedAt === undefined || Number.isFinite(value.receivedAt)) &&
      (value.token === undefined || (typeof value.token === "string" && TOKEN.test(value.token)));
    return fits ? (value as Receipt) : undefined;
  } catch {
    return undefined;
  }
}
