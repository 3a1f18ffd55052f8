import { expect, test } from "vitest";
import { logLink } from "../../../console/page/log-link.ts";
import { inConsole, logUrl } from "../../../src/settings/log-groups.ts";

test.each(["eu-central-1", "us-east-1", "cn-north-1", "us-gov-west-1", "ap-southeast-2"])(
  "the address of a log in %s is a link",
  (region) => {
    const url = logUrl(region, inConsole("/aws/lambda/Mail"), '"01K"', 1_772_355_600_000);
    expect(logLink(url)).toBe(url);
  },
);

test.each([
  undefined,
  "",
  "nonsense",
  "/console",
  "//evil.example",
  "javascript:alert(1)",
  " javascript:alert(1)",
  "java\nscript:alert(1)",
  "JAVASCRIPT://eu-central-1.console.aws.amazon.com/%0aalert(1)",
  "data:text/html,<script>alert(1)</script>",
  "blob:https://eu-central-1.console.aws.amazon.com/1",
  "http://eu-central-1.console.aws.amazon.com/cloudwatch",
  "https://evil.example/cloudwatch",
  "https://eu-central-1.console.aws.amazon.com.evil.example/",
  "https://evil.example/.console.aws.amazon.com",
  "https://evil.example#.console.aws.amazon.com",
  "https://eu-central-1.console.aws.amazon.com@evil.example/",
  "https://ada:word@eu-central-1.console.aws.amazon.com/",
  "https://xconsole.aws.amazon.com/",
  "https://a.b.console.aws.amazon.com.evil/",
])("%j is no link", (url) => {
  expect(logLink(url)).toBeUndefined();
});
