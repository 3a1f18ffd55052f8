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

export function blocks(): Block[] {
  return PAGES.flatMap((page) => blocksOf(page, readPage(page)));
}

/** The blocks of a page. The text of a block in a list is without the list's indentation. */
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

export function nameOf({ page, line }: Block): string {
  return `${page}:${line}`;
}

/** The path in the first line of a block of TypeScript, if that line is a comment with a path. */
export function fileOf({ text }: Block): string | undefined {
  return /^\/\/ ([\w./[\]-]+\.ts)\b/.exec(text)?.[1];
}
