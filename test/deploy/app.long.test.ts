import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { policyIn } from "../../src/settings/policy-text.ts";
import { ALARM_TOPIC_ARN, resourcesOf, type StackTemplate } from "../infra/resources.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const folder = mkdtempSync(join(tmpdir(), "minutehand-synth-"));
afterAll(() => rmSync(folder, { recursive: true }));

const run = promisify(execFile);

function synthesised(): StackTemplate {
  return JSON.parse(readFileSync(join(folder, "Minutehand.template.json"), "utf8")) as StackTemplate;
}

/** Runs the app as the CDK's command line does for `-c` arguments. The command line itself would take seconds. */
async function appWith(context: Record<string, string>): Promise<StackTemplate> {
  const env = { ...process.env, CDK_OUTDIR: folder, CDK_CONTEXT_JSON: JSON.stringify(context) };
  await run(process.execPath, ["infra/app.ts"], { cwd: ROOT, env });
  return synthesised();
}

describe("the app", () => {
  it("synthesises its eight topics, and outputs the API's URL, the table's name and the queues' URL prefix", async () => {
    const template = await appWith({});
    const queues = resourcesOf(template, "AWS::SQS::Queue").map(([, { Properties }]) => Properties.QueueName);
    expect(queues.sort()).toEqual([
      "minutehand-callbacks",
      "minutehand-callbacks_dlq",
      "minutehand-days",
      "minutehand-days_dlq",
      "minutehand-events",
      "minutehand-events_dlq",
      "minutehand-nights",
      "minutehand-nights_dlq",
      "minutehand-precise",
      "minutehand-precise_dlq",
      "minutehand-readings",
      "minutehand-readings_dlq",
      "minutehand-reminders",
      "minutehand-reminders_dlq",
      "minutehand-work",
      "minutehand-work_dlq",
      "minutehand_events",
      "minutehand_events_dlq",
      "minutehand_schedules_dlq",
    ]);
    expect(Object.keys(template.Outputs)).toEqual(
      expect.arrayContaining(["ApiUrl", "TableName", "QueueUrlPrefix"]),
    );
    const routes = resourcesOf(template, "AWS::ApiGatewayV2::Route").map(([, r]) => r.Properties.RouteKey);
    expect(routes.sort()).toEqual(["ANY /", "ANY /{proxy+}", "POST /topics/{topic}/receive"]);
    expect(resourcesOf(template, "AWS::Lambda::EventSourceMapping")).toHaveLength(5);
  });

  it("has with api=none everything except the HTTP API and recurring schedules", async () => {
    const template = await appWith({ api: "none" });
    const types = Object.values(template.Resources).map(({ Type }) => Type);
    expect(types.filter((type) => type.startsWith("AWS::ApiGatewayV2"))).toEqual([]);
    const functions = resourcesOf(template, "AWS::Lambda::Function").map(([id]) => id.slice(0, 14));
    expect(functions.sort()).toEqual([
      "Consumerprecis",
      "Consumerremind",
      "JobsEventsAppl",
      "JobsPromotions",
      "JobsTickSweepe",
      "JobsWebhookcal",
    ]);
    expect(resourcesOf(template, "AWS::Events::Rule")).toHaveLength(3);
    expect(Object.keys(template.Outputs)).not.toContain("ApiUrl");
  });

  it("refuses any other value of api", async () => {
    await expect(appWith({ api: "open" })).rejects.toThrow('is "open"; allowed: iam or none');
  });

  it("retains no resource if removable, notifies alarmTopicArn, and may call callbackHosts, also over http", async () => {
    const template = await appWith({
      removable: "true",
      alarmTopicArn: ALARM_TOPIC_ARN,
      callbackHosts: "127.0.0.1,hooks.internal",
    });
    const kept = Object.values(template.Resources).filter(({ DeletionPolicy = "" }) =>
      DeletionPolicy.startsWith("Retain"),
    );
    expect(kept).toEqual([]);
    const [, table] = resourcesOf(template, "AWS::DynamoDB::Table")[0] ?? [];
    expect(table?.Properties.DeletionProtectionEnabled).toBe(false);
    const alarms = resourcesOf(template, "AWS::CloudWatch::Alarm");
    expect(alarms.map(([, { Properties }]) => Properties.AlarmActions)).toEqual(
      alarms.map(() => [ALARM_TOPIC_ARN]),
    );
    const allowed = { webhook: { allowHosts: ["127.0.0.1", "hooks.internal"], allowHttp: true } };
    for (const [, { Properties }] of resourcesOf(template, "AWS::Lambda::Function")) {
      const { Variables } = Properties.Environment as { Variables: Record<string, string> };
      expect(policyIn(Variables.MINUTEHAND_POLICY ?? "").topics.callbacks).toEqual(allowed);
    }
  });
});
