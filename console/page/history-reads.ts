import { useQuery } from "@tanstack/preact-query";
import { HISTORY_PATH } from "../about.ts";
import type { HistoryAnswer } from "../history.ts";
import { call, refetchEvery } from "./api.ts";
import { about } from "./server.ts";
import { MINUTE, SECOND } from "./times.ts";

/** CloudWatch's metrics have a value for each minute, and AWS charges for each read of them. */
const EVERY_MS = about.hasLive ? 5 * SECOND : MINUTE;

export const SPARK_HOURS = 3;

/** Of all topics, or with `topic` of one, with its steps of lateness. */
export function useHistory(hours: number = SPARK_HOURS, topic?: string) {
  return useQuery(historyQuery(hours, topic));
}

/** The history of all topics, for the frame of each view. It is read rarely, unless the view reads it more often. */
export function useFrameHistory() {
  return useQuery(historyQuery(SPARK_HOURS, undefined, 5 * EVERY_MS));
}

function historyQuery(hours: number, topic?: string, everyMs: number = EVERY_MS) {
  return {
    queryKey: ["history", hours, topic],
    refetchInterval: refetchEvery(everyMs),
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      call<HistoryAnswer>("GET", HISTORY_PATH, {}, { query: { hours, topic }, signal }),
  };
}
