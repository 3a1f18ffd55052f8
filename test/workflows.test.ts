import { execFileSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import packageJson from "../package.json" with { type: "json" };
import { faultsIn } from "../tools/workflows.ts";

const ROOT = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
const WORKFLOWS = globSync(".github/workflows/*", { cwd: ROOT });
const FILE = ".github/workflows/a.yml";
const CHECKOUT = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1";

/** A workflow with one job, whose lines are these. */
function workflow(...lines: readonly string[]): string {
  return ["on: push", "jobs:", "  a:", ...lines.map((line) => `    ${line}`), ""].join("\n");
}

test("a workflow of pinned actions and of this repository's own has no fault", async () => {
  const text = workflow("runs-on: ubuntu-24.04", "steps:", `  - uses: ${CHECKOUT}`, "  - uses: ./own");
  expect(await faultsIn(FILE, text)).toEqual([]);
});

test.each([
  [workflow("runs-on: ubuntu-24.04", "need: b", "steps:", "  - run: x"), "a.yml:5: Unexpected value 'need'"],
  [
    workflow("runs-on: ubuntu-24.04", "needs: b", "steps:", "  - run: x"),
    "at least one job with no dependencies",
  ],
  [
    workflow("runs-on: ubuntu-24.04", "steps:", "  - if: steps.b.outputs.c", "    run: x"),
    "might be invalid: b",
  ],
  [
    workflow("runs-on: ubuntu-24.04", "steps:", "  - uses: actions/checkout@v7"),
    "a.yml:6: name the action's",
  ],
  [workflow("runs-on: ubuntu-24.04", "steps:", "  - uses: actions/checkout"), "Expected format"],
  [workflow(`uses: some/other/.github/workflows/b.yml@${"0".repeat(40)}`), "name the action's commit and"],
])("finds what is wrong with %j", async (text, fault) => {
  expect((await faultsIn(FILE, text)).join("\n")).toContain(fault);
});

test("each workflow may only read, and gives a job more rights where the job needs them", () => {
  expect(WORKFLOWS.length).toBeGreaterThan(0);
  expect(WORKFLOWS.map((file) => parse(read(file)).permissions)).toEqual(
    WORKFLOWS.map(() => ({ contents: "read" })),
  );
});

const MANIFESTS: Readonly<Record<string, string>> = {
  npm: "package-lock.json",
  gomod: "go.mod",
  "github-actions": ".github/workflows",
};

test("Dependabot watches folders that have what it updates", () => {
  const { version, updates } = parse(read(".github/dependabot.yml"));
  expect(version).toBe(2);
  for (const { "package-ecosystem": ecosystem, directory, schedule } of updates) {
    expect(existsSync(join(ROOT, directory, MANIFESTS[ecosystem] ?? "nothing"))).toBe(true);
    expect(["daily", "weekly", "monthly"]).toContain(schedule.interval);
  }
});

test.each(globSync(".github/ISSUE_TEMPLATE/{fault,feature}.yml", { cwd: ROOT }))(
  "%s is a form with a label for each question",
  (file) => {
    const { name, description, body } = parse(read(file));
    const questions = body.filter(({ type }: { type: string }) => type !== "markdown");
    const ids = questions.map(({ id }: { id: string }) => id);
    expect([name, description]).toEqual([expect.stringMatching(/./), expect.stringMatching(/./)]);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { type, attributes } of questions) {
      expect(["input", "textarea", "dropdown", "checkboxes"]).toContain(type);
      expect(attributes.label).toMatch(/./);
    }
  },
);

test("only package.json names the addresses of the repository and its site", () => {
  const { homepage, bugs, repository } = packageJson;
  const repositoryUrl = repository.url.replace(/^git\+|\.git$/g, "");
  expect(bugs).toBe(`${repositoryUrl}/issues`);
  for (const address of [repositoryUrl, homepage].map((url) => url.replace(/^https:\/\/|\/$/g, ""))) {
    const named = execFileSync("git", ["grep", "--files-with-matches", "--fixed-strings", address], {
      cwd: ROOT,
      encoding: "utf8",
    });
    expect(named.trim().split("\n")).toEqual(["package.json"]);
  }
});
