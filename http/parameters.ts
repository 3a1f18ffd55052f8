import * as z from "zod/mini";
import { idempotencyKey, jobId, key, topic } from "./fields.ts";

/** The schemas of the parameters and headers that several calls share. */

export const jobPath = z.strictObject({ id: jobId });
export const topicPath = z.strictObject({ topic });
export const keyPath = z.strictObject({ topic, key });

export const idempotent = z.object({ "idempotency-key": z.exactOptional(idempotencyKey) });
