import { AwsError } from "./aws-error.ts";
import type { ScheduleRequest } from "./schedule-request.ts";
import { type Documents, openDocuments } from "./sqlite-documents.ts";

/** An occurrence whose target must still be invoked. Times are ms since the epoch. */
export type PendingDelivery = {
  readonly scheduledTime: number;
  readonly attempt: number;
  readonly notBefore: number;
  readonly expiresAt: number;
};

/** A schedule in the store. Times are ms since the epoch. */
export type StoredSchedule = {
  readonly arn: string;
  readonly request: ScheduleRequest;
  readonly createdAt: number;
  readonly modifiedAt: number;
  /** Every occurrence up to this time has become a delivery. */
  readonly deliveredUntil: number;
  readonly deliveries: readonly PendingDelivery[];
};

export type ScheduleGroup = {
  readonly arn: string;
  readonly name: string;
  readonly createdAt: number;
};

/** Schedule groups and schedules. Lists are in the order of the names. */
export type ScheduleStore = {
  readonly groups: () => ScheduleGroup[];
  /** Throws an `AwsError` with ResourceNotFoundException if there is none. */
  readonly group: (name: string) => ScheduleGroup;
  readonly hasGroup: (name: string) => boolean;
  readonly putGroup: (group: ScheduleGroup) => void;
  readonly removeGroup: (name: string) => void;
  readonly schedules: () => StoredSchedule[];
  readonly find: (groupName: string, name: string) => StoredSchedule | undefined;
  readonly put: (schedule: StoredSchedule) => void;
  readonly remove: (schedule: StoredSchedule) => void;
  readonly close: () => void;
};

type Document = { readonly group: ScheduleGroup } | { readonly schedule: StoredSchedule };

/** Without a file they are kept in memory. */
export function openScheduleStore(file: string | undefined): ScheduleStore {
  const documents: Documents<Document> = openDocuments(file);
  const groups = new Map<string, ScheduleGroup>();
  const schedules = new Map<string, StoredSchedule>();
  for (const document of documents.all()) {
    if ("group" in document) groups.set(document.group.name, document.group);
    else schedules.set(scheduleKey(document.schedule.request), document.schedule);
  }

  const remove = ({ request }: StoredSchedule) => {
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

/** `jobs/daily`. A group's key is its name, and no name has a slash, so keys of groups and schedules differ. */
export function scheduleKey({ GroupName, Name }: Pick<ScheduleRequest, "GroupName" | "Name">): string {
  return `${GroupName}/${Name}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
