import * as z from "zod/mini";
import { ACTOR_KINDS } from "../../core/actor.ts";
import { answer } from "../named.ts";
import { text } from "./values.ts";

export const actor = answer(
  "Actor",
  z.object({
    kind: answer("ActorKind", z.enum(ACTOR_KINDS)).check(
      z.meta({
        description:
          "`caller`: a call of the API or of a direct client. `event`: an event of EventBridge. `schedule`: a recurring schedule. `bulk`: a bulk of a caller. `topic`: the topic's `ifLate`. `sqs`: a redrive of the DLQ by SQS. `limit`, `pause`, `window`: what gave a `held` job its start.",
      }),
    ),
    name: z.exactOptional(
      text.check(
        z.meta({
          description:
            "The session name or the user that signed the call, or the caller that the API's authorizer names; the event's id; the schedule's name.",
        }),
      ),
    ),
    reason: z.exactOptional(text.check(z.meta({ description: "The `reason` of the call." }))),
  }),
);

export type ActorJson = z.output<typeof actor>;
