import type { BatchResultErrorEntry } from "@aws-sdk/client-sqs";
import { MinutehandError } from "../core/errors.ts";
import { unavailable } from "./unknown.ts";

const TRIES = 3;

/**
 * A receipt of a message that is gone, visible again or received anew. `InvalidParameterValue`: an expired
 * receipt, or a visibility past SQS's 12 hours, which then stays as it is.
 */
const MEANINGLESS = /ReceiptHandleIsInvalid|MessageNotInflight|InvalidParameterValue|InvalidIdFormat/;

export type ReceiptAnswer = { Failed?: BatchResultErrorEntry[] | undefined };

export type Named<T> = { id: string; entry: T };

/**
 * One batch of deletes or visibility changes. Receipts that mean nothing any more are no error; an entry
 * that SQS failed is repeated; what still failed is `unavailable`.
 */
export async function settleReceipts<T>(
  entries: readonly T[],
  call: (entries: readonly Named<T>[]) => Promise<ReceiptAnswer>,
): Promise<void> {
  let pending = entries.map((entry, index) => ({ id: String(index), entry }));
  let reason = "";
  for (let attempt = 1; attempt <= TRIES && pending.length > 0; attempt++) {
    const failed = (await callTogether(pending, call)).filter(({ Code = "" }) => !MEANINGLESS.test(Code));
    reason = `${failed[0]?.Code}: ${failed[0]?.Message}`;
    pending = pending.filter(({ id }) => failed.some(({ Id }) => Id === id));
  }
  if (pending.length > 0)
    throw new MinutehandError(
      "unavailable",
      `SQS failed to change or delete ${pending.length} messages: ${reason}`,
    );
}

async function callTogether<T>(
  entries: readonly Named<T>[],
  call: (entries: readonly Named<T>[]) => Promise<ReceiptAnswer>,
): Promise<BatchResultErrorEntry[]> {
  try {
    const { Failed = [] } = await call(entries);
    return Failed;
  } catch (thrown) {
    if (!MEANINGLESS.test((thrown as Error).name))
      throw unavailable("SQS did not answer for its receipts", thrown);
    // Emulators refuse a whole batch for one receipt.
    if (entries.length === 1) return [];
    const failed: BatchResultErrorEntry[] = [];
    for (const entry of entries) failed.push(...(await callTogether([entry], call)));
    return failed;
  }
}
