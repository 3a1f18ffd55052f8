import { LONGEST_LEASE, VISIBILITY_MARGIN, WRITER_DEADLINE } from "../../core/constants.ts";
import { keepsChanging, MinutehandError } from "../../core/errors.ts";
import { type Home, isRunning } from "../../core/home.ts";
import { hideSecondsOf } from "../../core/packs.ts";
import { decodeReceipt, type Receipt } from "../../core/receipt.ts";
import { changeOf } from "../../core/states.ts";
import { quoted } from "../../general/text.ts";
import { policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";
import { notFound, readJob } from "../store/read-job.ts";
import { putAway, requirePullTopic } from "./pull-topic.ts";
import { type ClaimedRun, claimLost, type Ending, settleDone, settleOtherwise } from "./settle.ts";
import { extendUntracked, settleUntrackedPull } from "./settle-untracked.ts";

const EXTEND_TRIES = 10;
/** How many bytes of a refused receipt an error shows. */
const RECEIPT_SHOWN = 60;

/**
 * Ends a pulled job's run. Can be repeated with the same receipt (`text`). `undefined`: an untracked job, which has no home.
 * @throws `unknown-topic`, `not-a-pull-topic`, `bad-request`, `job-not-found`, `claim-lost`, `untracked-topic`, `unavailable`
 */
export async function settlePulled(
  ctx: Context,
  topic: string,
  text: string,
  ending: Exclude<Ending, { end: "retry-in" | "throttled" }>,
): Promise<Home | undefined> {
  const { receipt, claim } = readReceipt(ctx, topic, text);
  if (!claim) {
    await settleUntrackedPull(ctx, topic, receipt, ending);
    return undefined;
  }
  const before = await readJob(ctx, claim.id);
  if (before.topic !== topic) throw ofAnotherTopic(ctx, topic, claim.id);
  if (ending.end === "done") {
    const run = before.key === undefined ? claim : { ...claim, key: before.key };
    const [settled] = await settleDone(ctx, [run], ctx.clock() + WRITER_DEADLINE);
    if (settled instanceof Error) throw settled;
    if (settled !== "settled") throw claimLost(claim.id);
  } else if ((await settleOtherwise(ctx, claim, ending)) === "lost") throw claimLost(claim.id);
  await putAway(ctx, topic, [{ handle: receipt.handle }]);
  return readJob(ctx, claim.id);
}

/** Prolongs a lease to `ms` from now, 12 h from its claim at most (`leaseUntil`), and hides the message as long. Throws as `settlePulled`. */
export async function extend(
  ctx: Context,
  topic: string,
  text: string,
  ms: number,
): Promise<{ home: Home | undefined; leaseUntil: number }> {
  const { receipt, claim } = readReceipt(ctx, topic, text);
  if (!claim) return { home: undefined, leaseUntil: await extendUntracked(ctx, topic, receipt, ms) };
  const away = { handle: receipt.handle, seconds: hideSecondsOf(ms + VISIBILITY_MARGIN) };
  for (let i = 0; i < EXTEND_TRIES; i++) {
    const home = await readJob(ctx, claim.id);
    const now = ctx.clock();
    if (home.topic !== topic) throw ofAnotherTopic(ctx, topic, claim.id);
    if (home.token !== claim.token || !isRunning(home, now)) throw claimLost(claim.id);
    const leaseEnd = Math.min(now + ms, (home.claimedAt ?? now) + LONGEST_LEASE);
    const changed = await ctx.pool.change(changeOf("extend", home, { leaseEnd }), now + WRITER_DEADLINE);
    if (!changed.changed) continue;
    await putAway(ctx, topic, [away]);
    return { home: changed.item as Home, leaseUntil: leaseEnd };
  }
  throw keepsChanging(`job ${claim.id}`);
}

/** An untracked job has no claim (`claim`). */
function readReceipt(
  ctx: Context,
  topic: string,
  text: string,
): { receipt: Receipt; claim: ClaimedRun | undefined } {
  requirePullTopic(ctx, topic);
  const receipt = decodeReceipt(text);
  if (!receipt) {
    const shown = quoted(text, RECEIPT_SHOWN);
    throw new MinutehandError("bad-request", `receipt must be a receipt that receive answered, got ${shown}`);
  }
  const { id, attempt, token } = receipt;
  if (token !== undefined) return { receipt, claim: { id, topic, token, attempt } };
  // SQS ignores a handle of another queue without an error.
  if (receipt.topic !== topic) throw claimLost(id);
  return { receipt, claim: undefined };
}

function ofAnotherTopic(ctx: Context, topic: string, id: string): MinutehandError {
  return policyOf(ctx, topic).tracking === "none" ? claimLost(id) : notFound(id);
}
