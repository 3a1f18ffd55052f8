import type { BatchResultErrorEntry } from "@aws-sdk/client-sqs";
import { MinutehandError } from "../core/errors.ts";
import { unavailable } from "./unknown.ts";

const TRIES = 3;

/**
 * Errors of a receipt that no longer counts: its message is deleted, visible again, or received anew. `InvalidParameterValue` means
 * that the receipt has expired, or that the message would be hidden for more than 12 hours in all. SQS then leaves the message unchanged.
 */
const MEANINGLESS = /ReceiptHandleIsInvalid|MessageNotInflight|InvalidParameterValue|InvalidIdFormat/;

export type ReceiptAnswer = { Failed?: BatchResultErrorEntry[] | undefined };

/** An entry of a batch, and its id in the call. */
export type Named<T> = { id: string; entry: T };

/**
 * Makes one batch of deletes or visibility changes. A receipt that no longer counts is no error. Entries for which SQS answers
 * another error are tried again. Throws `unavailable` if entries still fail at the last try, or at once if SQS does not answer a call.
 */
export async function settleReceipts<T>(
  entries: readonly T[],
  call: (entries: readonly Named<T>[]) => Promise<ReceiptAnswer>,
): Promise<void> {
  let pending = entries.map((entry, index) => ({ id: String(index), entry }));
  let reason = "";
  for (let attempt = 1; attempt <= TRIES && pending.length > 0; attempt++) {
    const failed = (await callBatch(pending, call)).filter(({ Code = "" }) => !MEANINGLESS.test(Code));
    reason = `${failed[0]?.Code}: ${failed[0]?.Message}`;
    pending = pending.filter(({ id }) => failed.some(({ Id }) => Id === id));
  }
  if (pending.length > 0)
    throw new MinutehandError(
      "unavailable",
      `SQS failed to change or delete ${pending.length} messages: ${reason}`,
    );
}

async function callBatch<T>(
  entries: readonly Named<T>[],
  call: (entries: readonly Named<T>[]) => Promise<ReceiptAnswer>,
): Promise<BatchResultErrorEntry[]> {
  try {
    const { Failed = [] } = await call(entries);
    return Failed;
  } catch (thrown) {
    if (!MEANINGLESS.test((thrown as Error).name))
      throw unavailable("SQS did not answer a call to change or delete messages", thrown);
    // Emulators refuse a whole batch because of one receipt, so try each entry alone.
    if (entries.length === 1) return [];
    const failed: BatchResultErrorEntry[] = [];
    for (const entry of entries) failed.push(...(await callBatch([entry], call)));
    return failed;
  }
}
