import { useLocation } from "preact-iso";
import { clock } from "../clock.ts";
import { DAY, isoAt } from "../times.ts";

/** Answers the query string's values, and a function that changes some of them. An empty value is removed. */
export function useSearch(): [
  Readonly<Record<string, string>>,
  (changes: Readonly<Record<string, string | undefined>>) => void,
] {
  const { path, query, route } = useLocation();
  return [query, (changes) => route(addressOf(path, { ...query, ...changes }), true)];
}

function addressOf(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value ? [[name, value]] : []));
  const search = new URLSearchParams(given).toString();
  return search === "" ? path : `${path}?${search}`;
}

export const addresses = {
  overview: "/console",
  time: (query: { topic?: string; from?: string; to?: string } = {}) => addressOf("/console/time", query),
  jobs: (query: Readonly<Record<string, string | undefined>> = {}) => addressOf("/console/jobs", query),
  /** Due from a day ago until seven days ahead. Such jobs may be due long before or after the job that led here. */
  labelled: (label: "tag" | "group", text: string) => {
    const range = { from: isoAt(clock() - DAY), to: isoAt(clock() + 7 * DAY) };
    return addressOf("/console/jobs", { [label]: text, ...range });
  },
  topic: (topic: string) => `/console/topics/${encodeURIComponent(topic)}`,
  job: (id: string) => `/console/jobs/${encodeURIComponent(id)}`,
  dead: (query: { topic?: string; of?: "retrying" } = {}) => addressOf("/console/dead", query),
  lastActions: "/console/last-actions",
  schedules: "/console/schedules",
  schedule: (name: string) => `/console/schedules/${encodeURIComponent(name)}`,
  live: (query: { topic?: string; job?: string } = {}) => addressOf("/console/live", query),
  enqueue: (query: { topic?: string; copy?: string } = {}) => addressOf("/console/enqueue", query),
};
