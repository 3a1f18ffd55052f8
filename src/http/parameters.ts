import * as z from "zod/mini";
import { idempotencyKey, ifMatch, jobId, key, topic } from "./fields.ts";

/** Shared by several calls. */

export const jobPath = z.strictObject({ id: jobId });
export const topicPath = z.strictObject({ topic });
export const keyPath = z.strictObject({ topic, key });

export const idempotent = z.object({ "idempotency-key": z.exactOptional(idempotencyKey) });
export const conditional = z.object({ "if-match": z.exactOptional(ifMatch) });
export const idempotentConditional = z.extend(idempotent, conditional.shape);
