import { expect, test } from "vitest";
import { commandsFor, commandsOf } from "../../../console/page/commands.ts";
import type { Topic } from "../../../console/page/reads.ts";

const topicOf = (topic: string, more: object = {}) =>
  ({ topic, dead: { count: 0 }, policy: { tracking: "full" }, ...more }) as unknown as Topic;

const known = {
  views: [
    { name: "Overview", href: "/console" },
    { name: "Time", href: "/console/time" },
  ],
  topics: [
    topicOf("order-timeout", { dead: { count: 1200 } }),
    topicOf("reminder", { pause: { state: "paused" } }),
    topicOf("beat", { policy: { tracking: "none" } }),
  ],
  schedules: [{ name: "daily-report" }],
  isLocal: true,
  isViewOnly: false,
};
const namesFor = (text: string) => commandsFor(text, commandsOf(known)).map(({ name }) => name);

test("without a text all commands are offered, the views first", () => {
  expect(namesFor("").slice(0, 3)).toEqual(["Overview", "Time", "order-timeout"]);
});

test("each word must stand in the command, wherever it begins", () => {
  expect(namesFor("ti dead")[0]).toBe("order-timeout: dead jobs (1,200)");
  expect(namesFor("pau ord")[0]).toBe("order-timeout: pause …");
  expect(namesFor("rem res")[0]).toBe("reminder: resume …");
  expect(namesFor("report")[0]).toBe("daily-report");
  expect(namesFor("dark")[0]).toBe("Colours: dark");
  expect(namesFor("clock hour")[0]).toBe("Move the clock 1 hour ahead");
});

test("what an untracked topic cannot do is not offered", () => {
  expect(namesFor("beat").filter((name) => name.startsWith("beat"))).toEqual([
    "beat",
    "beat: jobs",
    "beat: on the time axis",
    "beat: enqueue a job",
  ]);
});

test("a search of jobs comes first for a key or an id, or if nothing else matches, else last", () => {
  expect(namesFor("order-17")[0]).toBe("Search jobs for “order-17”");
  expect(namesFor("declined")).toEqual([
    "Search jobs for “declined”",
    "Search all jobs with the words of “declined”",
  ]);
  expect(namesFor("overview")[0]).toBe("Overview");
  expect(namesFor("overview").at(-1)).toBe("Search all jobs with the words of “overview”");
});

test("the clock can be moved only on the local stack", () => {
  expect(commandsOf({ ...known, isLocal: false }).map(({ name }) => name)).not.toContain(
    "Move the clock 1 hour ahead",
  );
});

test("a console that is view only offers no change", () => {
  const names = commandsOf({ ...known, isViewOnly: true }).map(({ name }) => name);
  expect(names.filter((name) => /pause|resume|clock|enqueue/.test(name))).toEqual([]);
  expect(names).toContain("order-timeout: jobs");
});
