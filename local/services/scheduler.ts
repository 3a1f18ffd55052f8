import type { Operations } from "./aws-endpoint.ts";
import { AwsError } from "./aws-error.ts";
import type { Clock } from "./clock.ts";
import { type Firing, type Surroundings, startFiring } from "./schedule-firing.ts";
import {
  readListRequest,
  readResourceName,
  readScheduleRequest,
  type ScheduleRequest,
} from "./schedule-request.ts";
import { type Group, openScheduleStore, type Schedule, scheduleKey } from "./schedule-store.ts";

const DEFAULT_GROUP = "default";

export type Place = { readonly region: string; readonly account: string };

type Options = Place & {
  /** Where schedules are kept; absent: in memory. */
  readonly file: string | undefined;
  readonly clock: Clock;
};

export type SchedulerService = {
  readonly operations: Operations;
  /** Begins to fire, with what was missed meanwhile. Until then, and once stopped, schedules are only kept. */
  readonly start: (surroundings: Omit<Surroundings, "book" | "clock">) => { readonly stop: () => void };
  readonly close: () => void;
};

/** EventBridge Scheduler: https://docs.aws.amazon.com/scheduler/latest/APIReference/Welcome.html */
export function createSchedulerService({ region, account, file, clock }: Options): SchedulerService {
  const book = openScheduleStore(file);
  let firing: Firing | undefined;
  const arnOf = (path: string) => `arn:aws:scheduler:${region}:${account}:${path}`;
  if (!book.hasGroup(DEFAULT_GROUP)) createGroup(DEFAULT_GROUP);

  function createGroup(name: string): { ScheduleGroupArn: string } {
    if (book.hasGroup(name)) throw conflict(`Schedule group ${name} already exists.`);
    const group = { name, arn: arnOf(`schedule-group/${name}`), createdAt: clock.now() };
    book.putGroup(group);
    return { ScheduleGroupArn: group.arn };
  }

  function deleteGroup(name: string): object {
    if (name === DEFAULT_GROUP)
      throw new AwsError("ValidationException", 400, "the default schedule group cannot be deleted");
    book.group(name);
    for (const schedule of book.schedules()) if (schedule.request.GroupName === name) forget(schedule);
    book.removeGroup(name);
    return {};
  }

  function createSchedule(request: ScheduleRequest): { ScheduleArn: string } {
    const { GroupName, Name, ClientToken } = request;
    book.group(GroupName);
    const known = book.find(GroupName, Name);
    // The same request once more: its first answer was lost.
    if (known && ClientToken !== undefined && known.request.ClientToken === ClientToken)
      return { ScheduleArn: known.arn };
    if (known) throw conflict(`Schedule ${Name} already exists.`);
    return put(request);
  }

  function updateSchedule(request: ScheduleRequest): { ScheduleArn: string } {
    return put(request, find(request.GroupName, request.Name));
  }

  /**
   * Occurrences count from now on, but for a time that is past: it is late already. What recurs goes on with the
   * occurrences that wait for their place in the window or for another try.
   */
  function put(request: ScheduleRequest, known?: Schedule): { ScheduleArn: string } {
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
    book.put(schedule);
    firing?.watch(schedule);
    return { ScheduleArn: schedule.arn };
  }

  function find(groupName: string, name: string): Schedule {
    book.group(groupName);
    const schedule = book.find(groupName, name);
    if (!schedule) throw new AwsError("ResourceNotFoundException", 404, `Schedule ${name} does not exist.`);
    return schedule;
  }

  function forget(schedule: Schedule): void {
    firing?.forget(schedule);
    book.remove(schedule);
  }

  function stop(): void {
    firing?.stop();
    firing = undefined;
  }

  const named = (parameters: Readonly<Record<string, string>>, query: URLSearchParams) =>
    find(readResourceName(query.get("groupName") ?? DEFAULT_GROUP), readResourceName(parameters.Name));

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
      "GET /schedules/{Name}": { answer: ({ parameters, query }) => describe(named(parameters, query)) },
      "DELETE /schedules/{Name}": {
        answer: ({ parameters, query }) => {
          forget(named(parameters, query));
          return {};
        },
      },
      "GET /schedules": {
        answer: ({ query }) => {
          const { GroupName, NamePrefix, State, ...page } = readListRequest(query);
          if (GroupName !== undefined) book.group(GroupName);
          const wanted = book
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
        answer: ({ parameters }) => describeGroup(book.group(readResourceName(parameters.Name))),
      },
      "DELETE /schedule-groups/{Name}": {
        answer: ({ parameters }) => deleteGroup(readResourceName(parameters.Name)),
      },
      "GET /schedule-groups": {
        answer: ({ query }) => {
          const { NamePrefix, ...page } = readListRequest(query);
          const wanted = book.groups().filter(({ name }) => name.startsWith(NamePrefix));
          const { items, ...next } = pageOf(wanted, ({ name }) => name, page);
          return { ScheduleGroups: items.map(describeGroup), ...next };
        },
      },
    },
    start: (surroundings) => {
      firing = startFiring({ ...surroundings, book, clock });
      for (const schedule of book.schedules()) firing.watch(schedule);
      return { stop };
    },
    close: () => {
      stop();
      book.close();
    },
  };
}

type Page = { readonly NextToken: string; readonly MaxResults: number };

/** A page begins after the key that its token is, so that what comes and goes meanwhile shifts nothing. */
function pageOf<T>(sorted: readonly T[], keyOfItem: (item: T) => string, { NextToken, MaxResults }: Page) {
  const after = Buffer.from(NextToken, "base64url").toString();
  const rest = sorted.filter((item) => keyOfItem(item) > after);
  const items = rest.slice(0, MaxResults);
  const last = items.at(-1);
  if (rest.length === items.length || last === undefined) return { items };
  return { items, NextToken: Buffer.from(keyOfItem(last)).toString("base64url") };
}

function describe({ arn, request, createdAt, modifiedAt }: Schedule): object {
  const { ClientToken: _, ...asked } = request;
  return { ...asked, Arn: arn, ...dates(createdAt, modifiedAt) };
}

function summarise({ arn, request, createdAt, modifiedAt }: Schedule): object {
  const { Name, GroupName, State, Target } = request;
  return { Arn: arn, Name, GroupName, State, Target: { Arn: Target.Arn }, ...dates(createdAt, modifiedAt) };
}

function describeGroup({ arn, name, createdAt }: Group): object {
  return { Arn: arn, Name: name, State: "ACTIVE", ...dates(createdAt, createdAt) };
}

/** In s since the epoch, as the protocol has them. */
function dates(createdAt: number, modifiedAt: number) {
  return { CreationDate: createdAt / 1000, LastModificationDate: modifiedAt / 1000 };
}

function conflict(message: string): AwsError {
  return new AwsError("ConflictException", 409, message);
}
