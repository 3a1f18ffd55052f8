import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Duration } from "aws-cdk-lib";
import { describe, expect, test } from "vitest";
import type { DelayQueueProps } from "../../infra/props.ts";
import { scopeOf } from "../../local/template/naming.ts";
import type { Template } from "../../local/template/template.ts";
import type { StackTemplate } from "../infra/resources.ts";
import { shopWith, someFunction, templateOf } from "../infra/shop-stack.ts";
import { functionIn } from "./deployment.ts";
import { rightsOf } from "./rights.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../../docs/reference/security.md"), "utf8");
const SITE = { region: "us-east-1", account: "000000000000", stackName: "Shop", sqsEndpoint: "", apiUrl: "" };
const EVENT = { detailType: "Asked", key: "$.detail.key" };
/** A topic of each kind. */
const TOPICS: DelayQueueProps["topics"] = {
  orders: { cancelOn: EVENT, notify: ["dead"] },
  asked: { enqueueOn: { ...EVENT, delay: Duration.minutes(1) } },
  notes: { tracking: "none" },
  work: { consumer: "pull", notify: ["dead"] },
  counted: { consumer: "pull", tracking: "none" },
  images: { notify: ["dead"] },
  hooks: { webhook: { url: "https://example.com/" }, notify: ["dead"] },
};
const ALL = Object.keys(TOPICS);

/** The functions of each row of the table, each with its topic if it has one. */
const ROLES: Readonly<Record<string, readonly (readonly [id: string, topic?: string])[]>> = {
  "HTTP API": [["JobsApiHandler"]],
  "`receive`": [["JobsApiReceive"]],
  tick: [["JobsTickSweeper"]],
  promote: [["JobsPromotionsPromote"]],
  occurrence: [["JobsRecurringOccurrence"]],
  events: [["JobsEventsApplier"]],
  "consumer (`addConsumer`, webhook)": [
    ["Orders", "orders"],
    ["Notes", "notes"],
    ["JobsWebhookhooksCaller", "hooks"],
  ],
  "caller of a target (`addTarget`)": [["ResizeTargetimagesCaller", "images"]],
  "producer (`grantEnqueue`)": [["Shop"]],
  "worker (`grantPull`)": [["Worker"]],
};
/** `template.test.ts` checks the row of the roles that no function has. */
const SCHEDULER = "Scheduler, for each group";

const FAR = ["CreateSchedule", "UpdateSchedule", "DeleteSchedule"];
const onGroup = (actions: readonly string[], group: string, role: RegExp): (string | RegExp)[] => [
  ...actions.map((action) => `scheduler:${action} schedule/minutehand-${group}/*`),
  role,
];
const RECURRING_GROUP = [
  ...onGroup([...FAR, "GetSchedule"], "schedules", /^iam:PassRole role\/JobsRecurringSchedulesRole/),
  "scheduler:ListSchedules *",
];
const FAR_GROUP = onGroup(FAR, "promotions", /^iam:PassRole role\/JobsPromotionsSchedulesRole/);
const BUS = [/^events:PutEvents event-bus\/default$/];
/** Rights on services other than DynamoDB and SQS, by their words in the table. Each pattern must meet a right. */
const OTHERS: Readonly<Record<string, readonly (string | RegExp)[]>> = {
  "": [],
  "both groups of schedules": [...FAR_GROUP, ...RECURRING_GROUP],
  "the group of recurring schedules": RECURRING_GROUP,
  "the group of far jobs' schedules": FAR_GROUP,
  "of topics with `notify` the event bus": BUS,
  "of pull topics with `notify` the event bus": BUS,
  "event source mappings": [/^lambda:UpdateEventSourceMapping event-source-mapping:/],
  "`lambda:InvokeFunction` of itself": [/^lambda:InvokeFunction function:Shop-JobsTickSweeper/],
  "`lambda:InvokeFunction` of its target, alias or version": [/^lambda:InvokeFunction function:Shop-Resize/],
  "a webhook's: its topic's secret, `secretsmanager:GetSecretValue`": [
    /^secretsmanager:GetSecretValue secret:Shop-JobsWebhookhooksSecret/,
  ],
};

const codesIn = (text: string): string[] => [...text.matchAll(/`(\w+)`/g)].map(([, code = ""]) => code);
const rows = new Map(
  (
    PAGE.split("## Who can do what")[1]
      ?.split("\n## ")[0]
      ?.match(/^\| .*\|$/gm) ?? []
  )
    .map((line) => line.slice(1, -1).split("|"))
    .map(([name = "", ...cells]) => [name.trim(), cells.map((cell) => cell.trim())] as const)
    .slice(2),
);
const EIGHT = codesIn(/^- \*\*The eight\*\*: (.*)$/m.exec(PAGE)?.[1] ?? "");

function tableRights(cell: string, hasPull: boolean): string[] {
  if (cell.startsWith("as ")) return tableRights(rows.get(cell.slice(3))?.[0] ?? "", hasPull);
  const [first = "", unless = ""] = cell.split(" if there is a pull topic, else ");
  const [all = "", except = ""] = first.split(" except ");
  expect(all).toMatch(/^the eight/);
  const kept = EIGHT.filter((action) => !codesIn(except).includes(action));
  const actions = unless === "" || hasPull ? [...kept, ...codesIn(all)] : codesIn(unless);
  return actions.map((action) => `dynamodb:${action}`);
}

/** The queues that a cell means. */
function queuesOf(words: string, kind: string, own: string | undefined): string[] {
  const topics: Readonly<Record<string, readonly string[]>> = {
    every: ALL,
    "of pull topics the": ["work", "counted"],
    "of the granted topics the": ["work", "counted"],
    "of tracked topics the": ALL.filter((topic) => !["notes", "counted"].includes(topic)),
    "of topics with `enqueueOn` the": ["asked"],
    "its own": [own ?? ""],
  };
  if (words === "the events'") return ["minutehand_events"];
  if (words === "its own" && own === undefined) return ["minutehand_schedules_dlq"];
  const found = topics[words];
  if (!found) throw new Error(`nobody has said which queues ${words} are`);
  return found.map((topic) => `minutehand-${topic}${kind === "DLQ" ? "_dlq" : ""}`);
}

function queueRights(cell: string, own: string | undefined): string[] {
  let words = "";
  return cell.split(/; |, and (?=the DLQ)/).flatMap((clause) => {
    const [, named = "", kind = "", actions = ""] =
      /^(.*?) (ready queue|DLQ|queue): ([`\w, ]+)$/.exec(clause) ?? [];
    if (kind === "" && clause !== "") throw new Error(`the cell is not understood: ${clause}`);
    if (named !== "the") words = named;
    return queuesOf(words, kind, own).flatMap((queue) =>
      codesIn(actions).map((action) => `sqs:${action} ${queue}`),
    );
  });
}

function otherRights(cell: string, topic: string | undefined): (string | RegExp)[] {
  return cell.split("; ").flatMap((words) => {
    const rights = OTHERS[words];
    if (!rights) throw new Error(`nobody has said what this allows: ${words}`);
    if (rights === BUS && topic === "notes") return [];
    return words.startsWith("a webhook's") && topic !== "hooks" ? [] : rights;
  });
}

function isRight(said: string | RegExp, right: string): boolean {
  return typeof said === "string" ? said === right : said.test(right);
}

function deployed(topics: DelayQueueProps["topics"]): StackTemplate {
  const { stack, queue } = shopWith({ topics });
  for (const [topic, name] of Object.entries({ orders: "Orders", asked: "Asked", notes: "Notes" }))
    if (topic in topics) queue.addConsumer(topic, someFunction(stack, name));
  if ("images" in topics) queue.addTarget("images", someFunction(stack, "Resize"));
  queue.grantEnqueue(someFunction(stack, "Shop"));
  const worker = someFunction(stack, "Worker");
  for (const topic of ["work", "counted"]) if (topic in topics) queue.grantPull(topic, worker);
  return templateOf(stack);
}

/** The rights of a function's role, without those on its log group. */
function rightsIn(template: StackTemplate, id: string): string[] {
  const scope = scopeOf(template as unknown as Template, SITE);
  const rights = [...rightsOf(template, functionIn(template, id), scope)];
  return rights
    .filter((right) => !right.startsWith("logs:"))
    .map((right) => right.replace(/ table\/Shop-JobsPool\w+$/, ""));
}

test("each row of the table of roles is checked", () => {
  expect([...rows.keys()]).toEqual([...Object.keys(ROLES), SCHEDULER]);
});

describe("the page says what may be done by", () => {
  const template = deployed(TOPICS);
  const cases = Object.entries(ROLES).flatMap(([row, functions]) =>
    functions.map(([id, topic]) => ({ row, id, topic })),
  );

  test.each(cases)("the role of $id ($row)", ({ row, id, topic }) => {
    const [onTable = "", onQueues = "", elsewhere = ""] = rows.get(row) ?? [];
    const rights = rightsIn(template, id);
    const others = otherRights(elsewhere, topic);
    const missing = others.filter((other) => !rights.some((right) => isRight(other, right)));
    expect(missing).toEqual([]);
    const rest = rights.filter((right) => !others.some((other) => isRight(other, right)));
    const said = [...tableRights(onTable, true), ...queueRights(onQueues, topic)];
    expect(rest.sort()).toEqual(said.sort());
  });

  test("the role of `receive` in a queue without pull topics", () => {
    const [onTable = ""] = rows.get("`receive`") ?? [];
    const rights = rightsIn(deployed({ orders: {} }), "JobsApiReceive");
    expect(rights.sort()).toEqual(tableRights(onTable, false).sort());
  });
});
