import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "..", "..");

/** A block of code in a page: `kind` is the word after its fence, `""` if there is none. */
export type Block = {
  readonly page: string;
  readonly line: number;
  readonly kind: string;
  readonly text: string;
};

/** The pages that users read, by their paths from the root. */
export const PAGES: readonly string[] = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "examples/README.md",
  ...globSync("docs/**/*.md", { cwd: ROOT }).sort(),
];

export function readPage(page: string): string {
  return readFileSync(join(ROOT, page), "utf8");
}

/** The blocks of all pages. */
export function blocks(): Block[] {
  return PAGES.flatMap((page) => blocksOf(page, readPage(page)));
}

/** The blocks of a page. One in a list is indented, and its text is not. */
export function blocksOf(page: string, text: string): Block[] {
  return [...text.matchAll(/^( *)```(.*)\n([\s\S]*?)^ *```$/gm)].map(
    ({ 1: indent = "", 2: kind = "", 3: lines = "", index }) => ({
      page,
      line: text.slice(0, index).split("\n").length,
      kind,
      text: lines.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    }),
  );
}

/** What its test is called. */
export function nameOf({ page, line }: Block): string {
  return `${page}:${line}`;
}

/** The file that a block of TypeScript is, if its first line says so. */
export function fileOf({ text }: Block): string | undefined {
  return /^\/\/ ([\w./[\]-]+\.ts)\b/.exec(text)?.[1];
}
