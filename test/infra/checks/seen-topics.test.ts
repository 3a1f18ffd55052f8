import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, Stack } from "aws-cdk-lib";
import { Annotations, Match } from "aws-cdk-lib/assertions";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { seenTopics } from "../../../infra/checks/seen-topics.ts";
import { DelayQueue } from "../../../infra/delay-queue.ts";
import type { DelayQueueProps } from "../../../infra/props.ts";

let folder: string;
let topicsFile: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "minutehand-topics-"));
  topicsFile = join(folder, "topics.json");
  vi.stubEnv("CDK_CLI_VERSION", "2.1148.1");
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

function synth(topics: string[], props: Partial<DelayQueueProps> = {}): Annotations {
  const stack = new Stack(new App(), "Shop");
  const declared = Object.fromEntries(topics.map((topic) => [topic, { consumer: "pull" } as const]));
  new DelayQueue(stack, "Jobs", { topics: declared, topicsFile, ...props });
  return Annotations.fromStack(stack);
}

const ofRefund = Match.stringLikeRegexp('topic "refund" is no longer declared');
const lineOf = (file: string) => Match.stringLikeRegexp(`then delete the topic's line in ${file} `);

describe("a topic removed from the props", () => {
  it("causes a warning at each synth until it is removed from the file", () => {
    synth(["mail", "refund"]).hasNoWarning("*", ofRefund);
    expect(JSON.parse(readFileSync(topicsFile, "utf8"))).toEqual({ "Shop/Jobs": ["mail", "refund"] });
    synth(["mail"]).hasWarning("/Shop/Jobs", ofRefund);
    synth(["mail"]).hasWarning("/Shop/Jobs", lineOf(topicsFile));
    writeFileSync(topicsFile, '{"Shop/Jobs":["mail"]}');
    synth(["mail"]).hasNoWarning("*", ofRefund);
  });

  it("is noticed even if another topic is added", () => {
    synth(["refund"]);
    synth(["mail"]).hasWarning("/Shop/Jobs", ofRefund);
    expect(JSON.parse(readFileSync(topicsFile, "utf8"))).toEqual({ "Shop/Jobs": ["mail", "refund"] });
  });

  it("does not change the file: only a new topic does, and only the entry of its own queue", () => {
    writeFileSync(topicsFile, '{"Shop/Jobs":["mail"],"Other/Jobs":["x"]}');
    const { mtimeMs } = statSync(topicsFile);
    synth(["mail"]);
    expect(statSync(topicsFile).mtimeMs).toBe(mtimeMs);
    synth(["mail", "work"]);
    expect(JSON.parse(readFileSync(topicsFile, "utf8"))).toEqual({
      "Shop/Jobs": ["mail", "work"],
      "Other/Jobs": ["x"],
    });
  });

  it("cannot be known from a broken file, so synth fails", () => {
    writeFileSync(topicsFile, "<<<<<<< HEAD");
    expect(() => synth(["mail"])).toThrow(
      `${topicsFile} must be JSON like {"<path>": ["<topic>", …]}, but it begins with "<<<<<<< HEAD"`,
    );
  });

  it("causes a warning without the CDK CLI too, which does not change the file", () => {
    writeFileSync(topicsFile, '{"Shop/Jobs":["mail","refund"]}');
    vi.stubEnv("CDK_CLI_VERSION", undefined);
    synth(["mail", "work"]).hasWarning("/Shop/Jobs", ofRefund);
    expect(readFileSync(topicsFile, "utf8")).toBe('{"Shop/Jobs":["mail","refund"]}');
  });

  it("will not be noticed if the file cannot be written, so synth warns of that", () => {
    const cannot = (reason: string) =>
      Match.stringLikeRegexp(`topics are not recorded.*cannot be written \\(${reason}\\)`);
    topicsFile = join(folder, "missing", "topics.json");
    synth(["mail"]).hasWarning("/Shop/Jobs", cannot("ENOENT"));
    topicsFile = join(folder, "topics.json");
    synth(["mail", "refund"]).hasNoWarning("*", cannot("\\w+"));
  });

  it("cannot be known from what is no file, so synth fails and says so", () => {
    topicsFile = folder;
    expect(() => synth(["mail"])).toThrow(
      `${folder} must be a JSON file that synth can read, but reading it fails (EISDIR)`,
    );
  });

  it("causes no warning in a removable stack", () => {
    synth(["mail", "refund"]);
    synth(["mail"], { removable: true }).hasNoWarning("*", ofRefund);
  });
});

describe("without the prop topicsFile", () => {
  const repository = process.cwd();
  beforeEach(() => process.chdir(folder));
  afterEach(() => process.chdir(repository));

  it("topics are written to a file in the working folder when the CDK's command line runs the app", () => {
    seenTopics("Shop/Jobs", ["mail"]);
    expect(JSON.parse(readFileSync("minutehand.topics.json", "utf8"))).toEqual({ "Shop/Jobs": ["mail"] });
  });

  it("the warning names this file", () => {
    writeFileSync("minutehand.topics.json", '{"Shop/Jobs":["mail","refund"]}');
    synth(["mail"], { topicsFile: undefined as never }).hasWarning(
      "/Shop/Jobs",
      lineOf("minutehand.topics.json"),
    );
  });

  it("the local stack writes no file", () => {
    vi.stubEnv("CDK_CLI_VERSION", undefined);
    expect(seenTopics("Shop/Jobs", ["mail"])).toEqual({ removed: [] });
    expect(existsSync("minutehand.topics.json")).toBe(false);
  });
});
