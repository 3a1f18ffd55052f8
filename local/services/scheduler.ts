import type { AwsRequest, Operations } from "./aws-endpoint.ts";
import { AwsError } from "./aws-error.ts";
import type { Clock } from "./clock.ts";
import { createScheduleFiring, type Firing, type FiringOptions } from "./schedule-firing.ts";
import {
  readListRequest,
  readResourceName,
  readScheduleRequest,
  type ScheduleRequest,
} from "./schedule-request.ts";
import {
  openScheduleStore,
  type ScheduleGroup,
  type ScheduleStore,
  type StoredSchedule,
  scheduleKey,
} from "./schedule-store.ts";

const DEFAULT_GROUP = "default";

export type AwsLocation = { readonly region: string; readonly account: string };

type Options = AwsLocation & {
  readonly file: string | undefined;
  readonly clock: Clock;
};

export type SchedulerService = {
  readonly operations: Operations;
  /** Fires first what fell due before. Before `start` and after `stop`, schedules are only stored. */
  readonly start: (dependencies: Omit<FiringOptions, "store" | "clock">) => { readonly stop: () => void };
  readonly close: () => void;
};

type Scheduler = Pick<Options, "region" | "account" | "clock"> & {
  readonly store: ScheduleStore;
  firing: Firing | undefined;
};

/** https://docs.aws.amazon.com/scheduler/latest/APIReference/Welcome.html */
export function createSchedulerService({ file, ...options }: Options): SchedulerService {
  const store = openScheduleStore(file);
  const scheduler: Scheduler = { ...options, store, firing: undefined };
  if (!store.hasGroup(DEFAULT_GROUP)) createGroup(scheduler, DEFAULT_GROUP);
  const stop = () => {
    scheduler.firing?.stop();
    scheduler.firing = undefined;
  };
  return {
    operations: operationsOn(scheduler),
    start: (dependencies) => {
      const firing = createScheduleFiring({ ...dependencies, store, clock: options.clock });
      scheduler.firing = firing;
      for (const schedule of store.schedules()) firing.watch(schedule);
      return { stop };
    },
    close: () => {
      stop();
      store.close();
    },
  };
}

function operationsOn(scheduler: Scheduler): Operations {
  const { store, clock } = scheduler;
  return {
    "POST /schedules/{Name}": {
      answer: ({ parameters: { Name = "" }, body }) =>
        createSchedule(scheduler, readScheduleRequest(Name, body, clock.now())),
    },
    "PUT /schedules/{Name}": {
      answer: ({ parameters: { Name = "" }, body }) =>
        updateSchedule(scheduler, readScheduleRequest(Name, body, clock.now())),
    },
    "GET /schedules/{Name}": { answer: (request) => describeSchedule(scheduleNamedIn(store, request)) },
    "DELETE /schedules/{Name}": {
      answer: (request) => {
        removeSchedule(scheduler, scheduleNamedIn(store, request));
        return {};
      },
    },
    "GET /schedules": { answer: ({ query }) => listSchedules(store, readListRequest(query)) },
    "POST /schedule-groups/{Name}": {
      answer: ({ parameters }) => createGroup(scheduler, readResourceName(parameters.Name)),
    },
    "GET /schedule-groups/{Name}": {
      answer: ({ parameters }) => describeGroup(store.group(readResourceName(parameters.Name))),
    },
    "DELETE /schedule-groups/{Name}": {
      answer: ({ parameters }) => deleteGroup(scheduler, readResourceName(parameters.Name)),
    },
    "GET /schedule-groups": { answer: ({ query }) => listGroups(store, readListRequest(query)) },
  };
}

function createGroup(scheduler: Scheduler, name: string): { ScheduleGroupArn: string } {
  const { store, clock } = scheduler;
  if (store.hasGroup(name)) throw conflict(`Schedule group ${name} already exists.`);
  const group = { name, arn: arnOf(scheduler, `schedule-group/${name}`), createdAt: clock.now() };
  store.putGroup(group);
  return { ScheduleGroupArn: group.arn };
}

function deleteGroup(scheduler: Scheduler, name: string): object {
  const { store } = scheduler;
  if (name === DEFAULT_GROUP)
    throw new AwsError("ValidationException", 400, "the default schedule group cannot be deleted");
  store.group(name);
  for (const schedule of store.schedules())
    if (schedule.request.GroupName === name) removeSchedule(scheduler, schedule);
  store.removeGroup(name);
  return {};
}

function listGroups(store: ScheduleStore, { NamePrefix, ...page }: ListRequest): object {
  const wanted = store.groups().filter(({ name }) => name.startsWith(NamePrefix));
  const { items, ...next } = pageOf(wanted, ({ name }) => name, page);
  return { ScheduleGroups: items.map(describeGroup), ...next };
}

function createSchedule(scheduler: Scheduler, request: ScheduleRequest): { ScheduleArn: string } {
  const { GroupName, Name, ClientToken } = request;
  scheduler.store.group(GroupName);
  const known = scheduler.store.find(GroupName, Name);
  // A client whose answer was lost repeats its request with the same token. Such a repeat is idempotent.
  if (known && ClientToken !== undefined && known.request.ClientToken === ClientToken)
    return { ScheduleArn: known.arn };
  if (known) throw conflict(`Schedule ${Name} already exists.`);
  return putSchedule(scheduler, request);
}

function updateSchedule(scheduler: Scheduler, request: ScheduleRequest): { ScheduleArn: string } {
  return putSchedule(scheduler, request, findSchedule(scheduler.store, request.GroupName, request.Name));
}

/** A one-time schedule in the past fires at once. A recurring one fires from now on, and keeps its deliveries that wait. */
function putSchedule(
  scheduler: Scheduler,
  request: ScheduleRequest,
  known?: StoredSchedule,
): { ScheduleArn: string } {
  const now = scheduler.clock.now();
  const isOnce = request.ScheduleExpression.startsWith("at(");
  const schedule = {
    arn: arnOf(scheduler, `schedule/${scheduleKey(request)}`),
    request,
    createdAt: known?.createdAt ?? now,
    modifiedAt: now,
    deliveredUntil: isOnce ? 0 : Math.max(now - 1, known?.deliveredUntil ?? 0),
    deliveries: isOnce || request.State === "DISABLED" ? [] : (known?.deliveries ?? []),
  };
  scheduler.store.put(schedule);
  scheduler.firing?.watch(schedule);
  return { ScheduleArn: schedule.arn };
}

function arnOf({ region, account }: Scheduler, path: string): string {
  return `arn:aws:scheduler:${region}:${account}:${path}`;
}

function scheduleNamedIn(
  store: ScheduleStore,
  { query, parameters }: Pick<AwsRequest, "query" | "parameters">,
): StoredSchedule {
  const groupName = readResourceName(query.get("groupName") ?? DEFAULT_GROUP);
  return findSchedule(store, groupName, readResourceName(parameters.Name));
}

function findSchedule(store: ScheduleStore, groupName: string, name: string): StoredSchedule {
  store.group(groupName);
  const schedule = store.find(groupName, name);
  if (!schedule) throw new AwsError("ResourceNotFoundException", 404, `Schedule ${name} does not exist.`);
  return schedule;
}

function removeSchedule({ store, firing }: Scheduler, schedule: StoredSchedule): void {
  firing?.forget(schedule);
  store.remove(schedule);
}

function listSchedules(store: ScheduleStore, { GroupName, NamePrefix, State, ...page }: ListRequest): object {
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
}

type ListRequest = ReturnType<typeof readListRequest>;
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
