import * as z from "zod/mini";
import { answer } from "../named.ts";
import { answeredSettings } from "../settings-json.ts";
import { count, text } from "./values.ts";

type BackoffJson = { waits: number[] } | { initial: number; factor: number; max: number; jitter: number };

const backoff = answer(
  "Backoff",
  z
    .object({
      waits: z.exactOptional(z.array(z.number())),
      initial: z.exactOptional(z.number()),
      factor: z.exactOptional(z.number()),
      max: z.exactOptional(z.number()),
      jitter: z.exactOptional(z.number()),
    })
    .check(z.meta({ description: "Either `waits`, or the other four fields." })),
) as z.ZodMiniType<BackoffJson>;

const webhookPolicy = answer(
  "WebhookPolicy",
  z.object({
    url: z.exactOptional(text),
    timeout: z.number(),
    allowHttp: z.boolean(),
    allowHosts: z.array(text),
    onlyHosts: z.exactOptional(z.array(text)),
    ports: z.array(count),
    sharedSecret: z.boolean(),
    mostAttempts: count,
  }),
);

export const topicPolicy = answer(
  "TopicPolicy",
  z.object({
    consumer: answer("TopicConsumer", z.enum(["lambda", "pull", "webhook"])),
    webhook: z.exactOptional(webhookPolicy),
    maxPerSecond: z.exactOptional(z.number()),
    window: z.exactOptional(text),
    ifLate: z.exactOptional(
      answer(
        "IfLate",
        z.object({ after: z.number(), do: answer("IfLateAction", z.enum(["skip", "expire"])) }),
      ),
    ),
    cancelledByEvents: z.exactOptional(
      z.boolean().check(z.meta({ description: "True if events cancel jobs. Otherwise absent." })),
    ),
    ...answeredSettings,
    pack: count,
    backoff,
  }),
);
