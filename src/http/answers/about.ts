import * as z from "zod/mini";
import { answer } from "../named.ts";
import { text } from "./values.ts";

export const health = answer("Health", z.object({ status: z.literal("ok"), version: text }));
export type Health = z.output<typeof health>;
export const openapi = answer("OpenApi", z.looseObject({ openapi: text }));
