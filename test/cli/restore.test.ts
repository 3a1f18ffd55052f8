import { App, Stack, Tags } from "aws-cdk-lib";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { afterEach, describe, expect, test, vi } from "vitest";
import { DelayQueue } from "../../infra/delay-queue.ts";
import { templateOf } from "../infra/shop-stack.ts";
import { type } from "./command-line.ts";
import { scriptAccount } from "./scripted-account.ts";
import type { ScriptedTable } from "./scripted-table.ts";
import { serveApi } from "./served-api.ts";

afterEach(() => void vi.unstubAllEnvs());

const ARN = "arn:aws:iam::123456789012:user/ada";
const ARN_OF_KEY = "arn:aws:kms:eu-west-1:123456789012:key/1ab";
/** As DynamoDB restores a table. */
const RESTORED: ScriptedTable = { read: 12_000, write: 4_000 };
const WHOLE: ScriptedTable = {
  ...RESTORED,
  ttl: "expiresAt",
  isRecoverable: true,
  isProtected: true,
  tags: { "aws:cloudformation:stack-name": "Shop", team: "shop", stage: "live", by: "hand" },
};
const TAGS = { team: "shop", stage: "live" };

/** The template of a real queue, whose app tags everything with `team`. */
function templateWith(removable = false): object {
  const stack = new Stack(new App(), "Shop");
  // A queue of the app that is no part of Minutehand has a tag of its own too.
  Tags.of(new Queue(stack, "Other")).add("mine", "yes");
  new DelayQueue(stack, "Jobs", { topics: { work: { consumer: "pull" } }, removable });
  Tags.of(stack).add("team", "shop");
  return templateOf(stack);
}
const TEMPLATE = templateWith();
const YAML = "Resources: {}\n";
const NOT_JSON =
  'the template of the stack Shop must be JSON, but begins with "Resources: {}\\n": package it with `aws cloudformation package --use-json`, and deploy it again';

function accountWith(table: ScriptedTable, more: { template?: object | string; url?: string } = {}) {
  const { template = TEMPLATE, url = "" } = more;
  const outputs = [
    { key: "JobsTable", value: "jobs", description: "Minutehand table" },
    { key: "Api", value: url, description: "Minutehand API" },
  ];
  const tags = { stage: "live", "aws:servicecatalog:provisioned": "x" };
  const Shop = { status: "UPDATE_COMPLETE", outputs, template, tags };
  const copy = () => ({ ...structuredClone(table), changedBy: [] as string[] });
  return { arn: ARN, stacks: { Shop }, tables: { jobs: copy(), restored: copy() } };
}

const RESTORE = ["restore", "--stack", "Shop", "--table", "restored"];
const PLAN =
  "give the table restored TTL on expiresAt, point-in-time recovery, the tag stage=live, the tag team=shop, deletion protection";

describe("restore", () => {
  test("says in a dry run what it would change, and changes nothing", async () => {
    const account = accountWith({ ...RESTORED, key: ARN_OF_KEY });
    await using _ = await scriptAccount(account);
    const { code, out, err } = await type(undefined, [...RESTORE, "--dry-run"]);
    expect({ code, out }).toEqual({ code: 0, out: `would ${PLAN}\n` });
    expect(err).toContain(
      `the KMS key ${ARN_OF_KEY} encrypts the table: give it to Table.fromTableAttributes`,
    );
    const { lines } = await type(undefined, [...RESTORE, "--dry-run", "--json"]);
    const changes = { ttl: true, recovery: true, tags: TAGS, protection: true };
    expect(lines).toEqual([{ table: "restored", changes, key: ARN_OF_KEY }]);
    expect(account.tables.restored.changedBy).toEqual([]);
  });

  test.each([
    ["y\n", 0],
    ["\n", 1],
  ])("asks before it changes the table, here with the answer %j", async (input, code) => {
    const account = accountWith(RESTORED);
    await using _ = await scriptAccount(account);
    const ended = await type(undefined, RESTORE, { terminal: true, input });
    expect(ended.code).toBe(code);
    expect(ended.err).toContain(`${PLAN}?`);
    const whole = { ttl: "expiresAt", isRecoverable: true, isProtected: true, tags: TAGS };
    if (code === 0) expect(account.tables.restored).toMatchObject(whole);
    else expect(account.tables.restored.changedBy).toEqual([]);
    expect(account.tables.jobs.changedBy).toEqual([]);
  });

  test("needs --yes without a terminal", async () => {
    await using _ = await scriptAccount(accountWith(RESTORED));
    const { code, err } = await type(undefined, RESTORE);
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining("confirm with --yes") });
  });

  test("changes only what the table lacks, and protects it last", async () => {
    const account = accountWith({ ...WHOLE, isProtected: false, tags: { ...WHOLE.tags, team: "other" } });
    await using _ = await scriptAccount(account);
    const { code, out } = await type(undefined, [...RESTORE, "--yes"]);
    expect({ code, out }).toEqual({
      code: 0,
      out: "the table restored has the tag team=shop, deletion protection\n",
    });
    expect(account.tables.restored.changedBy).toEqual(["TagResource", "UpdateTable"]);
    expect(account.tables.restored.tags).toEqual(WHOLE.tags);
    const again = await type(undefined, [...RESTORE, "--yes"]);
    expect(again.code).toBe(0);
    expect(again.err).toContain("there is nothing to do: would leave the table restored as it is");
    expect(account.tables.restored.changedBy).toHaveLength(2);
  });

  test("checks the table afterwards, until DynamoDB shows the change", async () => {
    const waits: number[] = [];
    const wait = (ms: number) => void waits.push(ms);
    await using _ = await scriptAccount(accountWith({ ...WHOLE, isProtected: false, staleAnswers: 3 }));
    const { code } = await type(undefined, [...RESTORE, "--yes"], { wait });
    expect({ code, waits }).toEqual({ code: 0, waits: [1000, 1000] });
  });

  test("fails if the table still lacks something afterwards, and names it", async () => {
    await using _ = await scriptAccount(accountWith({ ...WHOLE, isProtected: false, staleAnswers: 99 }));
    const { code, err } = await type(undefined, [...RESTORE, "--yes"]);
    expect(code).toBe(1);
    expect(err).toContain("the table restored still lacks deletion protection: wait a minute");
  });

  test("takes the table of the stack without --table, and gives it no tags without --stack", async () => {
    const account = accountWith(RESTORED);
    await using _ = await scriptAccount(account);
    expect((await type(undefined, ["restore", "--stack", "Shop", "--yes"])).code).toBe(0);
    expect(account.tables.jobs.tags).toEqual(TAGS);
    const { code, err } = await type(undefined, ["restore", "--table", "restored", "--yes"]);
    expect({ code, err }).toEqual({ code: 0, err: "without --stack the table gets no tags\n" });
    expect(account.tables.restored).toMatchObject({ ttl: "expiresAt", isProtected: true });
    expect(account.tables.restored.tags).toBeUndefined();
  });

  test("does not protect the table of a removable queue", async () => {
    const account = accountWith(RESTORED, { template: templateWith(true) });
    await using _ = await scriptAccount(account);
    expect((await type(undefined, [...RESTORE, "--yes"])).code).toBe(0);
    expect(account.tables.restored).toMatchObject({ ttl: "expiresAt", isRecoverable: true, tags: TAGS });
    expect(account.tables.restored.isProtected).toBeUndefined();
  });

  test.each<[Partial<ScriptedTable>, string]>([
    [{ status: "CREATING" }, "it is CREATING: wait until it is ACTIVE"],
    [{ keys: ["id", "sk"] }, "its keys are not the strings pk and sk, so it is no job table"],
    [{ ttl: "ttl" }, "its TTL is on ttl: turn that off"],
    [{ replicas: ["eu-west-1", "us-east-1"] }, "it is a global table, with replicas in us-east-1"],
    [{ globalTableVersion: "2017.11.29" }, "it is a global table, with replicas in other regions"],
  ])("refuses a table with %j", async (settings, said) => {
    const account = accountWith({ ...RESTORED, ...settings });
    await using _ = await scriptAccount(account);
    const { code, err } = await type(undefined, [...RESTORE, "--yes"]);
    expect(code).toBe(1);
    expect(err).toContain(`the table restored cannot be made whole: ${said}`);
    expect(account.tables.restored.changedBy).toEqual([]);
  });

  test("says how to deploy a stack whose template is YAML, and changes nothing", async () => {
    const account = accountWith(RESTORED, { template: YAML });
    await using _ = await scriptAccount(account);
    const { code, err } = await type(undefined, [...RESTORE, "--yes"]);
    expect({ code, err }).toEqual({ code: 1, err: `minutehand: ${NOT_JSON}\n` });
    expect(account.tables.restored.changedBy).toEqual([]);
  });

  test("says in its help which rights the caller needs", async () => {
    const { out } = await type(undefined, ["restore", "--help"]);
    expect(out).toContain("dynamodb:UpdateTimeToLive, UpdateContinuousBackups, TagResource and UpdateTable");
    expect(out).toContain("cloudformation:DescribeStacks and cloudformation:GetTemplate");
  });
});

describe("doctor checks the settings of the deployed table", () => {
  async function settingsOf(table: ScriptedTable, template?: object | string) {
    await using api = await serveApi();
    await api.world.tick();
    const account = accountWith(table, { url: api.url, ...(template && { template }) });
    await using _ = await scriptAccount(account);
    const { code, lines } = await type(api, ["doctor", "--stack", "Shop", "--json"]);
    const [check] = lines.filter((line) => (line as { check: string }).check === "table settings");
    return { code, ...(check as object) };
  }

  test("of a whole one", async () => {
    const ok = { code: 0, result: "ok", found: "the table jobs lacks nothing" };
    expect(await settingsOf(WHOLE)).toMatchObject(ok);
    // A single-region table that CloudFormation made as a global table names its own region.
    const alone = { replicas: ["eu-west-1"], globalTableVersion: "2019.11.21" };
    expect(await settingsOf({ ...WHOLE, ...alone })).toMatchObject(ok);
    expect(await settingsOf({ ...WHOLE, isProtected: false }, templateWith(true))).toMatchObject(ok);
  });

  test("of a restored one", async () => {
    expect(await settingsOf(RESTORED)).toEqual({
      code: 0,
      check: "table settings",
      result: "warning",
      found:
        "the table jobs lacks TTL on expiresAt, point-in-time recovery, the tag stage=live, the tag team=shop, deletion protection",
      todo: "minutehand restore --stack Shop",
    });
  });

  test("of a stack whose template is YAML", async () => {
    expect(await settingsOf(WHOLE, YAML)).toEqual({
      code: 0,
      check: "table settings",
      result: "warning",
      found: NOT_JSON,
    });
  });

  test("of a global one", async () => {
    expect(await settingsOf({ ...WHOLE, replicas: ["us-east-1", "us-west-2"] })).toMatchObject({
      code: 1,
      result: "failed",
      found: expect.stringContaining(
        "it is a global table, with replicas in us-east-1 and us-west-2: the functions of two regions would run the same job",
      ),
    });
  });

  test("warns if it may not read them", async () => {
    await using api = await serveApi();
    await api.world.tick();
    await using _ = await scriptAccount({ ...accountWith(WHOLE, { url: api.url }), tables: {} });
    const { lines } = await type(api, ["doctor", "--stack", "Shop", "--json"]);
    expect(lines).toContainEqual({
      check: "table settings",
      result: "warning",
      found: "DynamoDB did not say how the table jobs is set: not authorized",
      todo: "allow dynamodb:DescribeTable, DescribeTimeToLive, DescribeContinuousBackups and ListTagsOfResource for this check",
    });
  });
});
