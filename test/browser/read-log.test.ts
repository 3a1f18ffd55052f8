import { afterAll, beforeAll, expect, test } from "vitest";
import { type About, ASK, LOGS_PATH } from "../../console/about.ts";
import type { JobLog } from "../../console/job-logs.ts";
import { answerLog } from "../../console/own-answers.ts";
import { readPageFiles } from "../../console/page-files.ts";
import { consolePages } from "../../console/pages.ts";
import { openProxy } from "../../console/proxy.ts";
import { createClient } from "../../src/client/client.ts";
import { MinutehandError } from "../../src/core/errors.ts";
import { inConsole, logUrl } from "../../src/settings/log-groups.ts";
import { expectAccessible } from "./accessible.ts";
import { testBrowser } from "./browser.ts";
import { stackUrl } from "./stack-url.ts";

const KEY = "a-key-of-this-test";
const browser = testBrowser();
const api = createClient({ url: stackUrl });

/** The console of a deployed queue. Its log is read as the test says. */
let base: string;
let stop: () => Promise<void>;
let answer: () => Promise<JobLog>;
let asked = 0;
beforeAll(async () => {
  const url = stackUrl;
  const about: About = { queue: "Shop", url, auth: "iam", hasLive: false };
  const options = {
    pages: consolePages(await readPageFiles(), ASK),
    about,
    own: {
      [LOGS_PATH]: answerLog(() => {
        asked += 1;
        return answer();
      }),
    },
    host: "minutehand-of-this-test.localhost",
    url,
    authorize: async ({ headers }: { headers: Headers }) => headers,
    key: KEY,
    port: 0,
  };
  ({ address: base, stop } = await openProxy(options));
});
afterAll(() => stop?.());

test("the log of a deployed queue's job is read when the user asks, or the page says which right is missing", async () => {
  const job = await api.enqueue("work", {}, { delay: "1h", key: "read-log" });
  const page = await browser.open("/console/nothing", { base });
  // The API of the local stack knows no log group.
  const named = logUrl("eu-central-1", inConsole("/aws/lambda/Work"), `"${job.id}"`, 1000);
  await page.route(
    ({ pathname }) => pathname === `/jobs/${job.id}`,
    async (route) =>
      route.fulfill({ json: { ...(await api.get(job.id)), logUrl: named, lastError: "no bank" } }),
  );
  answer = () => Promise.reject(new MinutehandError("forbidden", "you need logs:FilterLogEvents"));
  await page.goto(`${base}/console/jobs/${job.id}#key=${KEY}`);
  await page.getByText("The lines are read with your own AWS credentials").waitFor();
  expect(asked).toBe(0);
  await page.getByRole("button", { name: "Read the log" }).click();
  await page.getByText("you need logs:FilterLogEvents").waitFor();
  await expectAccessible(page);
  const trace = "Error: no bank\n    at pay (src/pay.ts:1:2)\n    at call (node_modules/x/y.js:3:4)";
  const text = "12:00:05.004  work  01K  threw in attempt 1\n    Error: no bank";
  answer = async () => ({ lines: [{ text, at: Date.now(), trace }], isWhole: false });
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText(/threw in attempt 1$/).waitFor();
  await page.getByText("These are not all lines").waitFor();
  const shown = page.getByRole("region", { name: "Stack trace of the last error" });
  await shown.getByText("at pay (src/pay.ts:1:2)").waitFor();
  await shown.getByText("1 frame of packages and Node.js").click();
  await shown.getByText("at call (node_modules/x/y.js:3:4)").waitFor();
  const link = page.getByRole("link", { name: "Open the log of this job in CloudWatch" });
  expect(await link.getAttribute("href")).toContain("console.aws.amazon.com");
});
