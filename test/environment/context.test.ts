import { describe, expect, it } from "vitest";
import { createContext } from "../../src/environment/context.ts";
import { policyOf } from "../../src/protocol/policy.ts";
import { webhookPolicy } from "../../src/settings/policy.ts";

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
