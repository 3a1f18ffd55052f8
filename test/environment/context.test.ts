import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createContext } from "../../src/environment/context.ts";
import { policyOf } from "../../src/protocol/policy.ts";
import { webhookPolicy } from "../../src/settings/policy.ts";
import { ok, scriptedService } from "../aws/scripted-service.ts";

const ENVIRONMENT = {
  MINUTEHAND_TABLE: "jobs",
  MINUTEHAND_QUEUE_URL_PREFIX: "https://sqs/1/minutehand-",
  MINUTEHAND_POLICY: JSON.stringify({ topics: { hooks: { webhook: {} } } }),
};

describe("the context", () => {
  it("names a variable that is missing", () => {
    const { MINUTEHAND_TABLE: _, ...incomplete } = ENVIRONMENT;
    expect(() => createContext(incomplete)).toThrow("environment variable MINUTEHAND_TABLE must be set");
  });

  it("makes nothing that puts events unless the deployment names an event bus", async () => {
    const { report, telemetry } = createContext(ENVIRONMENT);
    expect(report).toBe(telemetry.report);
    const service = await scriptedService(() => ok({ Entries: [{ EventId: "1" }] }));
    const variables = {
      AWS_ACCESS_KEY_ID: "k",
      AWS_SECRET_ACCESS_KEY: "s",
      AWS_ENDPOINT_URL_DYNAMODB: service.endpoint,
    };
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
    onTestFinished(async () => {
      vi.unstubAllEnvs();
      await service.close();
    });
    const notifying = createContext({
      ...ENVIRONMENT,
      MINUTEHAND_POLICY: JSON.stringify({ topics: { orders: { notify: ["completed"] } } }),
      MINUTEHAND_EVENT_BUS: "shop-bus",
      AWS_ENDPOINT_URL_EVENTBRIDGE: service.endpoint,
    });
    notifying.report({ type: "done", topic: "orders", id: "i", attempt: 1 });
    await notifying.telemetry.flush();
    const puts = service.requests.filter(({ operation }) => operation === "PutEvents");
    expect(puts.map(({ input }) => input.Entries)).toMatchObject([
      [{ EventBusName: "shop-bus", Source: "minutehand.minutehand.orders" }],
    ]);
  });

  it("names logs and metrics itself, whatever names a user's function gives to Powertools", () => {
    const users = {
      DEV: "true",
      METRICS_DISABLED: "false",
      SERVICE_NAME: "theirs",
      METRICS_NAMESPACE: "Theirs",
    };
    for (const [name, value] of Object.entries(users)) vi.stubEnv(`POWERTOOLS_${name}`, value);
    const written = (["log", "warn"] as const).map((name) => vi.spyOn(console, name).mockReturnValue());
    onTestFinished(() => {
      vi.unstubAllEnvs();
      vi.restoreAllMocks();
    });
    const prefix = "https://sqs.eu-central-1.amazonaws.com/1/shop-eu-";
    const { telemetry } = createContext({ ...ENVIRONMENT, MINUTEHAND_QUEUE_URL_PREFIX: prefix });
    telemetry.report({ type: "dead", topic: "hooks", id: "i", attempt: 1, error: "e", hasLetter: false });
    telemetry.flush();
    const lines = written.flatMap(({ mock }) => mock.calls.map(([line]) => JSON.parse(String(line))));
    expect(lines.map(({ service }) => service)).toEqual(["shop-eu", "shop-eu", "shop-eu"]);
    const namespaces = lines.flatMap(({ _aws }) => (_aws ? [_aws.CloudWatchMetrics[0].Namespace] : []));
    expect(namespaces).toEqual(["Minutehand", "Minutehand"]);
  });

  it.each([
    [undefined, []],
    ["false", []],
    ["1", []],
    ["true", ["localhost", "127.0.0.1", "[::1]"]],
  ])("lets webhooks call this machine only with MINUTEHAND_ALLOW_LOOPBACK true, here %s", (flag, hosts) => {
    const ctx = createContext({ ...ENVIRONMENT, MINUTEHAND_ALLOW_LOOPBACK: flag });
    const { allowHosts, allowHttp } = webhookPolicy(policyOf(ctx, "hooks"));
    expect({ allowHosts, allowHttp }).toEqual({ allowHosts: hosts, allowHttp: hosts.length > 0 });
  });
});
