import { execFileSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { markdownTable, type Row } from "./table.ts";

const ROOT = join(import.meta.dirname, "../..");
export const PAGE = join(ROOT, "docs", "internals", "benchmarks.md");

const MEASURED = /(?<=<!-- measured -->\n)[\s\S]*(?=\n<!-- \/measured -->)/;

/** Replaces what the page says of the last run. So no line of the table is older than another. */
export function pageWith(page: string, measured: string): string {
  if (!MEASURED.test(page))
    throw new Error("the page of the figures must have a part between <!-- measured --> marks");
  return page.replace(MEASURED, () => measured);
}

/** Aligns the page's table, as the check of the formatting requires. */
export function formatPage(): void {
  execFileSync(join(ROOT, "node_modules", ".bin", "biome"), ["format", "--write", PAGE], { stdio: "ignore" });
}

export function measuredText(rows: readonly Row[], minutes: number): string {
  const date = new Date().toISOString().slice(0, 10);
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], {
    cwd: ROOT,
    encoding: "utf8",
  }).trim();
  return (
    `One run of ${Math.round(minutes)} minutes on ${date} measured the whole table, at commit ${commit}, with Node ` +
    `${process.versions.node} on ${availableParallelism()} cores.\n\n${markdownTable(rows)}`
  );
}
