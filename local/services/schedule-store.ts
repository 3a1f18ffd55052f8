import { AwsError } from "./aws-error.ts";
import type { ScheduleRequest } from "./schedule-request.ts";
import { type Documents, openDocuments } from "./sqlite-documents.ts";

/** An occurrence whose target is still to be invoked. Times are ms since the epoch. */
export type Delivery = {
  readonly scheduledTime: number;
  /** Of the attempt that comes next, from 1. */
  readonly attempt: number;
  readonly notBefore: number;
  readonly expiresAt: number;
};

/** A schedule as it is kept. Times are ms since the epoch. */
export type Schedule = {
  readonly arn: string;
  readonly request: ScheduleRequest;
  readonly createdAt: number;
  readonly modifiedAt: number;
  /** Each occurrence up to then became a delivery. */
  readonly deliveredUntil: number;
  readonly deliveries: readonly Delivery[];
};

export type Group = {
  readonly arn: string;
  readonly name: string;
  readonly createdAt: number;
};

/** The groups and their schedules, in the order of their names. */
export type ScheduleStore = {
  readonly groups: () => Group[];
  /** Throws `AwsError`, a ResourceNotFoundException. */
  readonly group: (name: string) => Group;
  readonly hasGroup: (name: string) => boolean;
  readonly putGroup: (group: Group) => void;
  readonly removeGroup: (name: string) => void;
  readonly schedules: () => Schedule[];
  readonly find: (groupName: string, name: string) => Schedule | undefined;
  readonly put: (schedule: Schedule) => void;
  readonly remove: (schedule: Schedule) => void;
  readonly close: () => void;
};

type Document = { readonly group: Group } | { readonly schedule: Schedule };

/** Kept in a file, or in memory without one. */
export function openScheduleStore(file: string | undefined): ScheduleStore {
  const documents: Documents<Document> = openDocuments(file);
  const groups = new Map<string, Group>();
  const schedules = new Map<string, Schedule>();
  for (const document of documents.all()) {
    if ("group" in document) groups.set(document.group.name, document.group);
    else schedules.set(scheduleKey(document.schedule.request), document.schedule);
  }

  const remove = ({ request }: Schedule) => {
    schedules.delete(scheduleKey(request));
    documents.remove(scheduleKey(request));
  };
  return {
    groups: () => [...groups.values()].sort((a, b) => compare(a.name, b.name)),
    group: (name) => {
      const group = groups.get(name);
      if (!group)
        throw new AwsError("ResourceNotFoundException", 404, `Schedule group ${name} does not exist.`);
      return group;
    },
    hasGroup: (name) => groups.has(name),
    putGroup: (group) => {
      groups.set(group.name, group);
      documents.put(group.name, { group });
    },
    removeGroup: (name) => {
      groups.delete(name);
      documents.remove(name);
    },
    schedules: () => [...schedules].sort(([a], [b]) => compare(a, b)).map(([, schedule]) => schedule),
    find: (GroupName, Name) => schedules.get(scheduleKey({ GroupName, Name })),
    put: (schedule) => {
      schedules.set(scheduleKey(schedule.request), schedule);
      documents.put(scheduleKey(schedule.request), { schedule });
    },
    remove,
    close: documents.close,
  };
}

/** No name has a slash. */
export function scheduleKey({ GroupName, Name }: Pick<ScheduleRequest, "GroupName" | "Name">): string {
  return `${GroupName}/${Name}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
