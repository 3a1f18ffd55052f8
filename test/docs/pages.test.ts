import { existsSync, globSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parseSync } from "oxc-parser";
import { describe, expect, test } from "vitest";
import { PRICES } from "../../tools/bench/prices.ts";
import { sectionsOf } from "../../tools/site/contents.ts";
import { faultsIn } from "../../tools/workflows.ts";
import { blocks, blocksOf, fileOf, nameOf, PAGES, ROOT, readPage } from "./blocks.ts";
import { commandFault } from "./command-fault.ts";

const TESTED: Readonly<Record<string, string>> = {
  sh: "shell-blocks.long.test.ts",
  ts: "code-blocks.long.test.ts",
  // CommonJS, tests for Jest (`../package/commonjs.ts`), and a program for BullMQ.
  typescript: "../package/bullmq.ts",
  // Those of the page of signing, of `python-blocks.long.test.ts`, `ruby-blocks.long.test.ts` and `any-language.long.test.ts`.
  python: "sign-blocks.long.test.ts",
  go: "sign-blocks.long.test.ts",
  java: "sign-blocks.long.test.ts",
  ruby: "sign-blocks.long.test.ts",
  sql: "code-blocks.long.test.ts",
  json: "pages.test.ts",
  yaml: "pages.test.ts",
  text: "pages.test.ts",
};

/** Kinds that no test runs, each with the only page that may have them. The page must say what was not run. */
const NOT_RUN: Readonly<Record<string, string>> = {
  hcl: "docs/guides/without-cdk.md",
  js: "docs/guides/without-cdk.md",
  php: "docs/guides/from-laravel.md",
};

test("the README has at most 100 lines", () => {
  expect(readPage("README.md").split("\n").length).toBeLessThanOrEqual(101);
});

test("each block is of a kind that a test runs", () => {
  expect(
    blocks()
      .filter(({ kind, page }) => !(kind in TESTED) && NOT_RUN[kind] !== page)
      .map(nameOf),
  ).toEqual([]);
});

test.each([...new Set(Object.values(NOT_RUN))])("%s says which of its blocks were not run", (page) => {
  expect(readPage(page)).toMatch(/^Not run: /m);
});

test.each(blocks().filter(({ kind }) => kind === "js"))("$page:$line is JavaScript", ({ text }) => {
  expect(parseSync("block.mjs", text).errors).toEqual([]);
});

test("a block without a kind, and one in a list, are found", () => {
  expect(blocksOf("p.md", "a\n\n```\nb\n```\n\n- c\n\n  ```sh\n  d\n    e\n  ```\n")).toEqual([
    { page: "p.md", line: 3, kind: "", text: "b\n" },
    { page: "p.md", line: 9, kind: "sh", text: "d\n  e\n" },
  ]);
});

test.each(blocks().filter(({ kind }) => kind === "json"))("$page:$line is JSON", ({ text }) => {
  expect(() => JSON.parse(text)).not.toThrow();
});

test.each(blocks().filter(({ kind }) => kind === "yaml"))(
  "$page:$line is a workflow without a fault",
  async ({ page, text }) => {
    expect(await faultsIn(`${page}.yml`, text)).toEqual([]);
  },
);

test("the layout names each room once", () => {
  const [layout = ""] = blocks()
    .filter(({ kind }) => kind === "text")
    .map(({ text }) => text);
  const around: string[] = [];
  const named = [...layout.matchAll(/^( *)([a-z-]+)\/ /gm)].map(([, indent = "", room = ""]) => {
    around.splice(indent.length / 2, around.length, room);
    return `${around.join("/")}/`;
  });
  const rooms = globSync(["*/", "{src,tools,src/protocol}/*/"], {
    cwd: ROOT,
    exclude: ["node_modules", "dist", "cdk.out"],
  })
    .filter((folder) => globSync("**/*.{ts,md}", { cwd: join(ROOT, folder) }).length > 0)
    .map((folder) => `${folder}/`);
  expect(named.sort()).toEqual(rooms.sort());
});

describe.each(PAGES)("%s", (page) => {
  const text = readPage(page).replaceAll(/^ *```[\s\S]*?^ *```$/gm, "");

  test("links only to pages and headings that exist", () => {
    const broken = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link = ""]) => link)
      .filter((link) => !link.startsWith("https://") && !leadsSomewhere(page, link));
    expect(broken).toEqual([]);
  });

  test("names only files that exist", () => {
    const named = [...text.matchAll(/`([^`\s]+)`/g)].map(([, name = ""]) => name);
    expect(named.filter((name) => isPath(name) && !existsSomewhere(page, name))).toEqual([]);
  });

  test("names only commands that exist", () => {
    const named = [...text.matchAll(/`(?:npx )?minutehand ([^`]+)`/g)].map(([, words = ""]) => words);
    expect(named.filter((words) => commandFault(words.split(/\s+/)) !== undefined)).toEqual([]);
  });
});

test("docs/README.md lists each page", () => {
  const listed = sectionsOf(readPage("docs/README.md")).flatMap(({ items }) => items.map(({ link }) => link));
  const pages = globSync("**/*.md", { cwd: join(ROOT, "docs") });
  const decisions = (path: string): boolean => /^internals\/decisions\/(?!index)/.test(path);
  expect(["README.md", "start.md", ...listed].sort()).toEqual(
    pages.filter((path) => !decisions(path)).sort(),
  );
});

function leadsSomewhere(page: string, link: string): boolean {
  const [path = "", heading] = link.split("#");
  const target = path === "" ? page : join(dirname(page), path);
  if (!existsSync(join(ROOT, target))) return false;
  return heading === undefined || anchorsOf(readPage(target)).includes(heading);
}

/** The anchors of a page's headings, as GitHub and the site make them. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

test("the monthly cost of a thousand jobs a second follows from the price of a write", () => {
  const costs = readPage("docs/reference/limits-and-cost.md");
  const page = readPage("docs/guides/when-not-to-use.md");
  const number = (text: string, pattern: RegExp) => Number(pattern.exec(text)?.[1]?.replaceAll(",", ""));
  const writes = number(costs, /under 1 KiB +\| (\d) DynamoDB write units/);
  const jobs = number(page, /([\d,]+) million jobs in 30 days/);
  expect(jobs).toBe((1000 * 30 * 86_400) / 1e6);
  const cost = Math.round((jobs * writes * PRICES.writeUnit * 1e6) / 100) * 100;
  expect(number(page, /writes alone cost about \$([\d,]+) a month/)).toBe(cost);
});

test.each(["target", "webhook"])("the cost of waiting for a %s follows from the price of Lambda", (room) => {
  const [, memory] = /const MEMORY_MIB = (\d+);/.exec(readPage(`infra/${room}.ts`)) ?? [];
  const second = (Number(memory) / 1024) * PRICES.gigabyteSecond * 1e6;
  const pattern = /\$([\d.]+) a million jobs for each second/g;
  const costs = PAGES.flatMap((page) =>
    [...readPage(page).matchAll(pattern)].map(([, cost]) => Number(cost)),
  );
  expect([...new Set(costs)]).toEqual([Math.round(second * 10) / 10]);
});

/** Folders of the repository, whose files the pages name. */
const FOLDERS = new Set(globSync(["*/", "{src,tools}/*/"], { cwd: ROOT }).map((folder) => basename(folder)));

/** Whether a name is a path of this repository: it begins with one of its folders, or is the name of a test, a script or a page. */
function isPath(name: string): boolean {
  const [folder = ""] = name.split("/");
  if (/[<>{}*$…"]/.test(name) || /^(node_modules|cdk\.out|dist)\b/.test(name)) return false;
  if (name.includes("/")) return FOLDERS.has(folder) || /^\.ci\//.test(name);
  return /^[\w-]+(\.test)?\.(ts|md)$/.test(name);
}

function existsSomewhere(page: string, name: string): boolean {
  // The page of security names its tests by their names alone.
  const folders = ["", dirname(page), ...(page.endsWith("security.md") ? ["test/security"] : [])];
  const shown = blocks()
    .filter((block) => block.page === page)
    .map(fileOf);
  return shown.includes(name) || folders.some((folder) => existsSync(join(ROOT, folder, name)));
}
