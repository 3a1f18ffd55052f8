import type { TopicJson } from "../http/answers/topics.ts";

export type Pause = NonNullable<TopicJson["pause"]>;

/** Whether a pause still holds jobs. The API calls a topic `resuming` for some minutes after its last job was released. */
export function isHolding(pause: Pause | undefined): pause is Pause {
  return pause !== undefined && (pause.state === "paused" || pause.parked > 0);
}
