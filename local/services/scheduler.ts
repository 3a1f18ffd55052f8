import type { Operations } from "./aws-endpoint.ts";
import { AwsError } from "./aws-error.ts";
import type { Clock } from "./clock.ts";
import { createScheduleFiring, type Firing, type FiringOptions } from "./schedule-firing.ts";
import {
  readListRequest,
  readResourceName,
  readScheduleRequest,
  type ScheduleRequest,
} from "./schedule-request.ts";
import { openScheduleStore, type ScheduleGroup, type StoredSchedule, scheduleKey } from "./schedule-store.ts";

const DEFAULT_GROUP = "default";

export type AwsLocation = { readonly region: string; readonly account: string };

type Options = AwsLocation & {
  /** The file with the schedules. `undefined`: they are kept in memory. */
  readonly file: string | undefined;
  readonly clock: Clock;
};

export type SchedulerService = {
  readonly operations: Operations;
  /**
   * Begins to fire schedules, first the schedules that fell due before `start`. Before `start` and after `stop`, schedules are only
   * stored.
   */
  readonly start: (dependencies: Omit<FiringOptions, "store" | "clock">) => { readonly stop: () => void };
  readonly close: () => void;
};

/** Plays EventBridge Scheduler: https://docs.aws.amazon.com/scheduler/latest/APIReference/Welcome.html */
export function createSchedulerService({ region, account, file, clock }: Options): SchedulerService {
  const store = openScheduleStore(file);
  let firing: Firing | undefined;
  const arnOf = (path: string) => `arn:aws:scheduler:${region}:${account}:${path}`;
  if (!store.hasGroup(DEFAULT_GROUP)) createGroup(DEFAULT_GROUP);

  function createGroup(name: string): { ScheduleGroupArn: string } {
    if (store.hasGroup(name)) throw conflict(`Schedule group ${name} already exists.`);
    const group = { name, arn: arnOf(`schedule-group/${name}`), createdAt: clock.now() };
    store.putGroup(group);
    return { ScheduleGroupArn: group.arn };
  }

  function deleteGroup(name: string): object {
    if (name === DEFAULT_GROUP)
      throw new AwsError("ValidationException", 400, "the default schedule group cannot be deleted");
    store.group(name);
    for (const schedule of store.schedules())
      if (schedule.request.GroupName === name) removeSchedule(schedule);
    store.removeGroup(name);
    return {};
  }

  function createSchedule(request: ScheduleRequest): { ScheduleArn: string } {
    const { GroupName, Name, ClientToken } = request;
    store.group(GroupName);
    const known = store.find(GroupName, Name);
    // A client whose answer was lost repeats its request with the same token. Such a repeat is idempotent.
    if (known && ClientToken !== undefined && known.request.ClientToken === ClientToken)
      return { ScheduleArn: known.arn };
    if (known) throw conflict(`Schedule ${Name} already exists.`);
    return putSchedule(request);
  }

  function updateSchedule(request: ScheduleRequest): { ScheduleArn: string } {
    return putSchedule(request, findSchedule(request.GroupName, request.Name));
  }

  /**
   * Stores a new or changed schedule. A one-time schedule for a past time fires at once. A recurring schedule fires its
   * occurrences from now on, and keeps the deliveries that wait for their time in the window or for a retry.
   */
  function putSchedule(request: ScheduleRequest, known?: StoredSchedule): { ScheduleArn: string } {
    const now = clock.now();
    const isOnce = request.ScheduleExpression.startsWith("at(");
    const schedule = {
      arn: arnOf(`schedule/${scheduleKey(request)}`),
      request,
      createdAt: known?.createdAt ?? now,
      modifiedAt: now,
      deliveredUntil: isOnce ? 0 : Math.max(now - 1, known?.deliveredUntil ?? 0),
      deliveries: isOnce || request.State === "DISABLED" ? [] : (known?.deliveries ?? []),
    };
    store.put(schedule);
    firing?.watch(schedule);
    return { ScheduleArn: schedule.arn };
  }

  function findSchedule(groupName: string, name: string): StoredSchedule {
    store.group(groupName);
    const schedule = store.find(groupName, name);
    if (!schedule) throw new AwsError("ResourceNotFoundException", 404, `Schedule ${name} does not exist.`);
    return schedule;
  }

  function removeSchedule(schedule: StoredSchedule): void {
    firing?.forget(schedule);
    store.remove(schedule);
  }

  function stop(): void {
    firing?.stop();
    firing = undefined;
  }

  const scheduleNamedIn = (parameters: Readonly<Record<string, string>>, query: URLSearchParams) =>
    findSchedule(
      readResourceName(query.get("groupName") ?? DEFAULT_GROUP),
      readResourceName(parameters.Name),
    );

  return {
    operations: {
      "POST /schedules/{Name}": {
        answer: ({ parameters: { Name = "" }, body }) =>
          createSchedule(readScheduleRequest(Name, body, clock.now())),
      },
      "PUT /schedules/{Name}": {
        answer: ({ parameters: { Name = "" }, body }) =>
          updateSchedule(readScheduleRequest(Name, body, clock.now())),
      },
      "GET /schedules/{Name}": {
        answer: ({ parameters, query }) => describeSchedule(scheduleNamedIn(parameters, query)),
      },
      "DELETE /schedules/{Name}": {
        answer: ({ parameters, query }) => {
          removeSchedule(scheduleNamedIn(parameters, query));
          return {};
        },
      },
      "GET /schedules": {
        answer: ({ query }) => {
          const { GroupName, NamePrefix, State, ...page } = readListRequest(query);
          if (GroupName !== undefined) store.group(GroupName);
          const wanted = store
            .schedules()
            .filter(
              ({ request }) =>
                (GroupName === undefined || request.GroupName === GroupName) &&
                (State === undefined || request.State === State) &&
                request.Name.startsWith(NamePrefix),
            );
          const { items, ...next } = pageOf(wanted, ({ request }) => scheduleKey(request), page);
          return { Schedules: items.map(summarise), ...next };
        },
      },
      "POST /schedule-groups/{Name}": {
        answer: ({ parameters }) => createGroup(readResourceName(parameters.Name)),
      },
      "GET /schedule-groups/{Name}": {
        answer: ({ parameters }) => describeGroup(store.group(readResourceName(parameters.Name))),
      },
      "DELETE /schedule-groups/{Name}": {
        answer: ({ parameters }) => deleteGroup(readResourceName(parameters.Name)),
      },
      "GET /schedule-groups": {
        answer: ({ query }) => {
          const { NamePrefix, ...page } = readListRequest(query);
          const wanted = store.groups().filter(({ name }) => name.startsWith(NamePrefix));
          const { items, ...next } = pageOf(wanted, ({ name }) => name, page);
          return { ScheduleGroups: items.map(describeGroup), ...next };
        },
      },
    },
    start: (dependencies) => {
      firing = createScheduleFiring({ ...dependencies, store, clock });
      for (const schedule of store.schedules()) firing.watch(schedule);
      return { stop };
    },
    close: () => {
      stop();
      store.close();
    },
  };
}

type Page = { readonly NextToken: string; readonly MaxResults: number };

/** A page's token is the last key of the page before. So an item that is added or removed between two pages shifts no page. */
function pageOf<T>(sorted: readonly T[], keyOfItem: (item: T) => string, { NextToken, MaxResults }: Page) {
  const after = Buffer.from(NextToken, "base64url").toString();
  const rest = sorted.filter((item) => keyOfItem(item) > after);
  const items = rest.slice(0, MaxResults);
  const last = items.at(-1);
  if (rest.length === items.length || last === undefined) return { items };
  return { items, NextToken: Buffer.from(keyOfItem(last)).toString("base64url") };
}

function describeSchedule({ arn, request, createdAt, modifiedAt }: StoredSchedule): object {
  const { ClientToken: _, ...asked } = request;
  return { ...asked, Arn: arn, ...dates(createdAt, modifiedAt) };
}

function summarise({ arn, request, createdAt, modifiedAt }: StoredSchedule): object {
  const { Name, GroupName, State, Target } = request;
  return { Arn: arn, Name, GroupName, State, Target: { Arn: Target.Arn }, ...dates(createdAt, modifiedAt) };
}

function describeGroup({ arn, name, createdAt }: ScheduleGroup): object {
  return { Arn: arn, Name: name, State: "ACTIVE", ...dates(createdAt, createdAt) };
}

/** The protocol's times are in s since the epoch. */
function dates(createdAt: number, modifiedAt: number) {
  return { CreationDate: createdAt / 1000, LastModificationDate: modifiedAt / 1000 };
}

function conflict(message: string): AwsError {
  return new AwsError("ConflictException", 409, message);
}
