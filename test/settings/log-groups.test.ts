import { expect, test } from "vitest";
import { inConsole, logPlaceIn, logsIn, logUrl, logVariables } from "../../src/settings/log-groups.ts";

const GROUPS = { "order-timeout": "Shop-JobsHandlerordertimeoutLog1A2B-Xy12", mail: "/aws/lambda/Mail" };

test("the variables of a stage carry the names of log groups, and only what API Gateway allows", () => {
  const variables = logVariables({ region: "eu-central-1", groups: GROUPS });
  expect(logsIn(variables)).toEqual({ region: "eu-central-1", groups: GROUPS });
  // AWS::ApiGateway::Stage, "Variables".
  for (const [name, value] of Object.entries(variables)) {
    expect(name).toMatch(/^[A-Za-z0-9_]+$/);
    expect(value).toMatch(/^[A-Za-z0-9._~:/?#&=,-]+$/);
  }
});

test("a stage has at most 100 variables, so further topics are left out", () => {
  const groups = Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`topic-${i}`, `group-${i}`]));
  const variables = logVariables({ region: "eu-central-1", groups });
  expect(Object.keys(variables)).toHaveLength(100);
  expect(Object.keys(logsIn(variables)?.groups ?? {})).toHaveLength(99);
});

test("a stage without these variables, or with other ones, names no log group", () => {
  expect(logsIn()).toBeUndefined();
  expect(logsIn({ log0: "mail=Mail" })).toBeUndefined();
  expect(logsIn({ logRegion: "eu-central-1", other: "a=b", log0: "mail", log1: "=x" })?.groups).toEqual({});
});

test("an address is that of CloudWatch's console, with each name encoded twice", () => {
  expect(logUrl("eu-central-1", inConsole("/aws/lambda/Mail"), '"01K"', 1_772_355_600_000)).toBe(
    "https://eu-central-1.console.aws.amazon.com/cloudwatch/home?region=eu-central-1#logsV2:log-groups/log-group/" +
      "$252Faws$252Flambda$252FMail/log-events$3FfilterPattern$3D$252201K$2522$26start$3D1772355600000",
  );
});

test.each([
  ["cn-north-1", "cn-north-1.console.amazonaws.cn"],
  ["us-gov-west-1", "us-gov-west-1.console.amazonaws-us-gov.com"],
])("the console of %s is %s", (region, host) => {
  expect(new URL(logUrl(region, "Mail", "x")).host).toBe(host);
});

test.each(["eu-central-1", "cn-north-1", "us-gov-west-1"])(
  "an address of the console of %s can be read",
  (region) => {
    const url = logUrl(region, inConsole("/aws/lambda/Mäil $1%"), '"01K" + x', 1_772_355_600_000);
    expect(logPlaceIn(url)).toEqual({
      ...{ region, group: "/aws/lambda/Mäil $1%", pattern: '"01K" + x', start: 1_772_355_600_000 },
    });
  },
);

test.each([
  "",
  "https://example.com/",
  logUrl("eu-central-1", "Mail", "x"),
  logUrl("eu-central-1", "Mail", "x", 1).replace("https", "http"),
  logUrl("eu-central-1", "Mail", "x", 1).replace("eu-central-1.console", "evil.example"),
  logUrl("eu-central-1", "Mail", "x", 1).replaceAll("eu-central-1", "eu@evil"),
  logUrl("eu-central-1", "Mail", "x", 1).replace("log-events", "streams"),
  logUrl("eu-central-1", "Mail$ZZ", "x", 1),
])("another address names no log: %s", (url) => {
  expect(logPlaceIn(url)).toBeUndefined();
});
