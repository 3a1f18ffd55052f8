import * as z from "zod/mini";
import { chain, idempotencyKey, ifMatch, jobId, key, reason, topic, traceparent } from "./fields.ts";

/** Shared by several calls. */

export const jobPath = z.strictObject({ id: jobId });
export const topicPath = z.strictObject({ topic });
export const keyPath = z.strictObject({ topic, key });

export const idempotent = z.object({ "idempotency-key": z.exactOptional(idempotencyKey) });
export const conditional = z.object({ "if-match": z.exactOptional(ifMatch) });
export const idempotentConditional = z.extend(idempotent, conditional.shape);

const ofOrigin = {
  "minutehand-chain": z.exactOptional(chain),
  "minutehand-traceparent": z.exactOptional(traceparent),
  traceparent: z.exactOptional(traceparent),
};
export const filing = z.extend(idempotent, ofOrigin);
export const filingConditional = z.extend(idempotentConditional, ofOrigin);

/** The query of each call that changes a job or a pause. Such a call acts for its caller: see `readCall`. */
export const reasoned = z.strictObject({ reason: z.exactOptional(reason) });
