import { execFile } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startSchedulerEndpoint } from "../../local/services/scheduler-endpoint.ts";
import { serveApi } from "../cli/served-api.ts";
import { createApi } from "../support/api.ts";
import { botocoreTest, pythonTest } from "../support/python.ts";
import { createWorld } from "../support/world.ts";
import { blocks, ROOT } from "./blocks.ts";

const PAGES = ["docs/guides/from-celery.md", "docs/guides/from-eventbridge-scheduler.md"];
const FOLDER = join(ROOT, "dist", "python-blocks");

/**
 * EventBridge Scheduler in memory, with the calls that the page's move makes. A schedule of `gone` is cancelled after it was read. One of
 * `slow` takes two seconds to read.
 */
const SCHEDULER = `
import time

class Gone(Exception):
    pass

class Scheduler:
    class exceptions:
        ResourceNotFoundException = Gone

    def __init__(self, schedules, gone, slow):
        self.schedules, self.gone, self.slow = schedules, gone, slow

    def get_paginator(self, operation):
        assert operation == "list_schedules"
        return self

    def paginate(self, GroupName, State):
        assert (GroupName, State) == ("orders", "ENABLED")
        return [{"Schedules": [{"Name": name}]} for name in list(self.schedules)]

    def get_schedule(self, GroupName, Name):
        time.sleep(2 if Name in self.slow else 0)
        return self.schedules.pop(Name) if Name in self.gone else self.schedules[Name]

    def delete_schedule(self, GroupName, Name):
        if self.schedules.pop(Name, None) is None:
            raise Gone

def schedule(expression, order_id, arn="arn:close", **more):
    old = {"ScheduleExpression": expression, "FlexibleTimeWindow": {"Mode": "OFF"}}
    return {**old, "Target": {"Arn": arn, "Input": '{"orderId": "%s"}' % order_id}, **more}
`;

const MOVE = `${SCHEDULER}
import json, sys, orders
from datetime import datetime, timedelta, timezone
orders.close_order = lambda body: body["orderId"]
from handler import handler
from move import move
berlin = {"ScheduleExpressionTimezone": "Europe/Berlin"}
soon = (datetime.now(timezone.utc) + timedelta(seconds=301)).strftime("at(%Y-%m-%dT%H:%M:%S)")
window = {"FlexibleTimeWindow": {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15}}
scheduler = Scheduler({
    "order-17": schedule("at(2031-01-02T09:00:00)", "17", **berlin),
    "order-18": schedule("at(2031-01-02T09:00:00)", "18", **window),
    "order-19": schedule("at(2031-01-02T09:00:00)", "19"),
    "fired": schedule("at(2021-01-02T09:00:00)", "20"),
    "daily": schedule("cron(30 8 ? * MON-FRI *)", "21", EndDate=datetime(2031, 1, 2, tzinfo=timezone.utc), **berlin, **window),
    "hourly": schedule("rate(1 hour)", "22"),
    "other": schedule("at(2031-01-02T09:00:00)", "22", arn="arn:other"),
    "soon": schedule(soon, "23"),
    "bare": {**schedule("at(2031-01-02T09:00:00)", ""), "Target": {"Arn": "arn:close"}},
    "message": {**schedule("at(2031-01-02T09:00:00)", ""), "Target": {"Arn": "arn:queue", "Input": "order 24"}},
}, gone=["order-19", "hourly"], slow=["order-17"])
for _ in range(2):
    move(scheduler, sys.argv[1], "orders", "order-timeout", "arn:close")
move(scheduler, sys.argv[1], "orders", "order-timeout", "arn:queue")
job = {"topic": "order-timeout", "attempt": 1, "dueAt": "2026-11-30T09:00:00Z", "body": {"orderId": "18"}}
taken = [handler({"orderId": "17"}, None), handler(job, None)]
print(json.dumps({"left": list(scheduler.schedules), "taken": taken}))
`;

/** Runs the page's move with the client that boto3 builds on. The second argument is the address of the Scheduler. */
const MOVE_BY_SDK = `
import json, sys
import botocore.session
from botocore.config import Config
from move import move
key = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
config = Config(retries={"total_max_attempts": 1})
scheduler = botocore.session.get_session().create_client("scheduler", endpoint_url=sys.argv[2], config=config, **key)
scheduler.create_schedule_group(Name="orders")
arn = "arn:aws:sqs:us-east-1:000000000000:orders"
role = "arn:aws:iam::000000000000:role/scheduler"
def create(name, expression, body, **more):
    target = {"Arn": arn, "RoleArn": role, "Input": body}
    schedule = {"Name": name, "GroupName": "orders", "ScheduleExpression": expression, "Target": target, **more}
    scheduler.create_schedule(**{"FlexibleTimeWindow": {"Mode": "OFF"}, **schedule})
create("order-17", "at(2031-07-02T09:00:00)", '{"orderId": "17"}', ScheduleExpressionTimezone="Europe/Berlin")
create("order-18", "at(2031-07-02T09:00:00)", '"order 18"', ActionAfterCompletion="DELETE")
create("stands-still", "at(2031-07-02T09:00:00)", "{}", State="DISABLED")
create("daily", "rate(1 day)", "{}", StartDate="2031-01-02T00:00:00Z")
move(scheduler, sys.argv[1], "orders", "order-timeout", arn)
left = [found["Name"] for found in scheduler.list_schedules(GroupName="orders")["Schedules"]]
# Cancelled after it was read: the delete answers that there is no such schedule.
create("order-19", "at(2031-07-02T09:00:00)", "{}")
delete = scheduler.delete_schedule
def delete_twice(**schedule):
    delete(**schedule)
    delete(**schedule)
scheduler.delete_schedule = delete_twice
move(scheduler, sys.argv[1], "orders", "order-timeout", arn)
print(json.dumps(sorted(left)))
`;

test("the pages have five programs in Python", () => {
  expect([...programs().keys()]).toEqual([
    ...["orders.py", "route.py", "move_tasks.py", "handler.py", "move.py"],
  ]);
});

/** The pages' programs in Python, by the names in their first lines. */
function programs(): Map<string, string> {
  const found = blocks().filter(({ page, kind }) => PAGES.includes(page) && kind === "python");
  return new Map(found.map(({ text }) => [/^# (\w+\.py)\n/.exec(text)?.[1] ?? "", text]));
}

/** Runs Python beside the pages' programs and `api.py`, and answers what it prints. */
async function python(name: string, program: string, ...urls: readonly string[]): Promise<unknown> {
  const folder = join(FOLDER, name);
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of programs()) writeFileSync(join(folder, file), text);
  cpSync(join(ROOT, "examples", "python", "api.py"), join(folder, "api.py"));
  const modules = { tasks: TASKS, flask: FLASK, standardwebhooks: WEBHOOKS };
  for (const [module, text] of Object.entries(modules)) writeFileSync(join(folder, `${module}.py`), text);
  writeFileSync(join(folder, "main.py"), program);
  const { stdout } = await promisify(execFile)("python3", ["main.py", ...urls], {
    cwd: folder,
    timeout: 60_000,
  });
  return JSON.parse(stdout);
}

const TOPICS = { "order-timeout": { consumer: "pull" } } as const;

pythonTest(
  "an order of the page's Python is filed once, and a cancel of its queued task, or while its webhook is called, revokes it",
  async () => {
    await using api = await serveApi(createApi(createWorld({ topics: TOPICS })));
    const { id } = await api.file({ topic: "order-timeout", key: "order-18", delay: 0 });
    const { receipt } = await api.receive("order-timeout");
    await api.call("POST", "/topics/order-timeout/finish", { body: { receipt } });
    const { id: running } = await api.file({ topic: "order-timeout", key: "order-20", delay: 0 });
    await api.receive("order-timeout");
    const program = `
import json, sys
from orders import order_paid, place_order
url, revoked = sys.argv[1], []
ids = [place_order(url, "17")["id"] for _ in range(2)]
cancelled = order_paid(url, "17", revoked.append)
late = [order_paid(url, order_id, revoked.append) for order_id in ("18", "19", "20")]
print(json.dumps({"once": len(set(ids)), "cancelled": cancelled, "revoked": revoked, "late": late}))
`;
    expect(await python("orders", program, api.url)).toEqual({
      ...{ once: 1, cancelled: true, revoked: [id, running], late: [false, false, false] },
    });
  },
);

pythonTest("the page's Python gives up in an outage", async () => {
  await using down = await serveApi(createApi(createWorld({ topics: {} })));
  const unavailable = down.url.replace(/:\d+$/, ":1");
  const program = `
import sys, orders, api
api.FIRST_PAUSE = api.LONGEST_PAUSE = 0.01
ended = []
for ask in (lambda: orders.place_order(sys.argv[1], "17"), lambda: orders.order_paid(sys.argv[1], "17", print)):
    try:
        ask()
    except OSError:
        ended.append("gave up")
print(__import__("json").dumps(ended))
`;
  expect(await python("outage", program, unavailable)).toEqual(["gave up", "gave up"]);
});

pythonTest(
  "the page's move in Python moves the schedules of one target, and the handler takes both events",
  async () => {
    await using api = await serveApi(createApi(createWorld({ topics: TOPICS })));
    const left = ["fired", "other", "soon"];
    expect(await python("move", MOVE, api.url)).toEqual({ left, taken: ["17", "18"] });
    const jobOf = async (key: string) => (await api.call("GET", `/topics/order-timeout/jobs/${key}`)).json;
    expect(await jobOf("order-17")).toMatchObject({
      ...{ state: "scheduled", dueAt: "2031-01-02T08:00:00.000Z", body: { orderId: "17" } },
    });
    const spread = Date.parse(String((await jobOf("order-18")).dueAt)) - Date.parse("2031-01-02T09:00:00Z");
    expect(spread >= 0 && spread <= 900_000).toBe(true);
    expect(await jobOf("order-19")).toMatchObject({ state: "cancelled" });
    expect(await jobOf("bare")).toMatchObject({ state: "scheduled", body: null });
    expect(await jobOf("message")).toMatchObject({ state: "scheduled", body: "order 24" });
    for (const key of left) expect(await jobOf(key)).toMatchObject({ code: "job-not-found" });
    const { json } = await api.call("GET", "/schedules/daily");
    expect(json).toMatchObject({
      ...{
        expression: "cron(30 8 ? * MON-FRI *)",
        timezone: "Europe/Berlin",
        end: "2031-01-02T00:00:00.000Z",
      },
      ...{ topic: "order-timeout", body: { orderId: "21" }, flexibleWindow: 900 },
    });
    expect((await api.call("GET", "/schedules/hourly")).status).toBe(404);
  },
);

botocoreTest("the page's move in Python takes schedules by the client of the AWS SDK", async () => {
  await using api = await serveApi(createApi(createWorld({ topics: TOPICS })));
  const endpoint = await startSchedulerEndpoint();
  try {
    expect(await python("sdk", MOVE_BY_SDK, api.url, endpoint.url)).toEqual(["stands-still"]);
    expect((await api.call("GET", "/schedules/daily")).json).toMatchObject({
      ...{ expression: "rate(1 day)", start: "2031-01-02T00:00:00.000Z" },
    });
  } finally {
    await endpoint.stop();
  }
  const jobOf = async (key: string) => (await api.call("GET", `/topics/order-timeout/jobs/${key}`)).json;
  expect(await jobOf("order-17")).toMatchObject({
    dueAt: "2031-07-02T07:00:00.000Z",
    body: { orderId: "17" },
  });
  expect(await jobOf("order-18")).toMatchObject({ state: "scheduled", body: "order 18" });
  expect(await jobOf("order-19")).toMatchObject({ state: "cancelled" });
});

/** What the route of the page uses of Flask and of the library of Standard Webhooks. A call's only right signature is "right". */
const FLASK = `
class Request:
    pass

request = Request()

class Flask:
    def __init__(self, name):
        pass

    def post(self, path):
        assert path == "/jobs"
        return lambda route: route
`;
const WEBHOOKS = `
import json

class WebhookVerificationError(Exception):
    pass

class Webhook:
    def __init__(self, secret):
        assert secret == "whsec"

    def verify(self, data, headers):
        if headers["webhook-signature"] != "right":
            raise WebhookVerificationError
        return json.loads(data)
`;

/** Celery with the calls that the page's move makes, and a task. A task of `gone` is revoked by another program while the move files it. */
const TASKS = `
from datetime import datetime, timedelta, timezone

class Control:
    def __init__(self, waiting, revoked, gone):
        self.waiting, self.ids, self.gone = waiting, list(revoked), gone

    def inspect(self, timeout):
        return self

    def revoked(self):
        return {"one": list(self.ids), "two": []}

    def scheduled(self):
        self.ids += self.gone
        return {"one": self.waiting[:1], "two": self.waiting[1:]}

    def revoke(self, ids):
        self.ids += ids

class App:
    pass

class Task:
    def __init__(self):
        self.queued = []

    def apply_async(self, args, task_id):
        self.queued.append([args, task_id])

close_order = Task()

def waiting(order_id, name="tasks.close_order", seconds=7200, by_name=False):
    eta = (datetime(2031, 1, 2, 9, tzinfo=timezone.utc) if seconds == 7200 else datetime.now(timezone.utc) + timedelta(seconds=seconds))
    return {"eta": eta.isoformat(), "priority": 6, "request": {"id": f"id-{order_id}", "name": name, "args": [] if by_name else [order_id], "kwargs": {"order_id": order_id} if by_name else {}}}

app = App()
app.control = Control([
    waiting("17"), waiting("18"), waiting("19"), waiting("20", name="tasks.mail"), waiting("21", seconds=3599), waiting("22", by_name=True),
], revoked=["id-18"], gone=["id-19"])
`;

pythonTest(
  "the page's move in Python moves the tasks that Celery's workers hold, and revokes them",
  async () => {
    await using api = await serveApi(createApi(createWorld({ topics: TOPICS })));
    const asks = "asks the workers, for half a minute";
    const answered = "workers that have answered: one two";
    const program = `
import io, contextlib, json, sys
from move_tasks import app, move
with contextlib.redirect_stdout(io.StringIO()) as out:
    move(sys.argv[1])
    app.control.gone = []
    move(sys.argv[1])
print(json.dumps([out.getvalue().splitlines(), app.control.ids]))
`;
    expect(await python("tasks", program, api.url)).toEqual([
      [asks, answered, "moved 3 tasks", asks, answered, "moved 0 tasks"],
      ["id-18", "id-19", "id-17", "id-19", "id-22"],
    ]);
    const jobOf = async (id: string) =>
      (await api.call("GET", `/topics/order-timeout/jobs/order-${id}`)).json;
    expect(await jobOf("17")).toMatchObject({
      ...{ state: "scheduled", dueAt: "2031-01-02T09:00:00.000Z", body: { orderId: "17" } },
    });
    expect(await jobOf("19")).toMatchObject({ state: "cancelled" });
    expect(await jobOf("22")).toMatchObject({ state: "scheduled", body: { orderId: "22" } });
    for (const id of ["18", "20", "21"]) expect(await jobOf(id)).toMatchObject({ code: "job-not-found" });
  },
);

pythonTest(
  "the page's route queues a task of Celery under the id of the call, and refuses others",
  async () => {
    const program = `
import json, os
os.environ["WEBHOOK_SECRET"] = "whsec"
import flask, tasks
from route import run
flask.request.get_data = lambda: b'{"orderId": "17"}'
answers = []
for signature in ("right", "wrong"):
    flask.request.headers = {"webhook-id": "id-17", "webhook-signature": signature}
    answers.append(run()[1])
print(json.dumps([answers, tasks.close_order.queued]))
`;
    expect(await python("route", program)).toEqual([[204, 401], [[["17"], "id-17"]]]);
  },
);
