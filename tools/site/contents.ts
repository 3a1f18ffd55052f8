import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A page in the sidebar, by its path from `docs/`. */
export type Link = { readonly text: string; readonly link: string };
/** A page with what it is about. */
export type Entry = Link & { readonly about: string };
export type Section = { readonly text: string; readonly items: readonly Entry[] };

/** The page to begin with, which stands before the sections. */
export const FIRST: Entry = {
  text: "Your first job",
  link: "start.md",
  about: "file and run a first job in a project of your own, in ten minutes",
};

/** Reads the sections of `docs/README.md`, each with its pages in their order. */
export function sectionsOf(index: string): Section[] {
  const [, ...sections] = index.split(/^## /m);
  return sections.map((section) => {
    const [text = ""] = section.split("\n");
    return { text, items: [...section.matchAll(/^\| \[([^\]]+)\]\(([^)]+)\) *\| (.*?) *\|$/gm)].map(entry) };
  });
}

function entry([, text = "", link = "", about = ""]: RegExpExecArray): Entry {
  return { text, link, about };
}

export const DECISIONS = "internals/decisions/index.md";

/** The pages of the decisions by their titles. */
export function decisionsIn(docs: string): Link[] {
  return globSync("internals/decisions/*.md", { cwd: docs, exclude: [DECISIONS] })
    .sort()
    .map((link) => {
      const [, text] = /^# (.+)\n/.exec(readFileSync(join(docs, link), "utf8")) ?? [];
      if (text === undefined) throw new Error(`a decision must begin with its title, but ${link} does not`);
      return { text, link };
    });
}
