import type { BatchResultErrorEntry } from "@aws-sdk/client-sqs";
import { MinutehandError } from "../core/errors.ts";
import { unavailable } from "./unknown.ts";

const TRIES = 3;

/**
 * The message is deleted, visible again, or received anew. `InvalidParameterValue`: the receipt has expired, or the message would be hidden
 * for more than 12 hours in all, and SQS leaves it unchanged.
 */
const MEANINGLESS = /ReceiptHandleIsInvalid|MessageNotInflight|InvalidParameterValue|InvalidIdFormat/;

export type ReceiptAnswer = { Failed?: BatchResultErrorEntry[] | undefined };

export type Named<T> = { id: string; entry: T };

/**
 * Deletes or hides a batch. A receipt that no longer counts is no error; other failed entries are tried again. Throws `unavailable` after the
 * last try, or at once if SQS does not answer.
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
