import { isJobId } from "./job-id.ts";

/** What a program sends to settle a pulled job. `token` proves the claim. The receipt of an untracked job has no token. */
export type Receipt = {
  v: 1;
  id: string;
  revision: number;
  attempt: number;
  token?: string;
  /** Set for an untracked job: such a job may have no home that names its topic. */
  topic?: string;
  /** When the message of an untracked job was received, ms since the epoch. SQS hides a message for at most 12 h from then on. */
  receivedAt?: number;
  handle: string;
};

export function encodeReceipt(receipt: Receipt): string {
  return Buffer.from(JSON.stringify(receipt)).toString("base64url");
}

// The characters of `drawToken` and of SQS's handles. Other text was made up, and DynamoDB or SQS might refuse the whole call.
const TOKEN = /^[\w-]{1,64}$/;
const HANDLE = /^[!-~]{1,4096}$/;

/** Reads a receipt. `undefined` for text that does not have the form of a receipt. */
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
