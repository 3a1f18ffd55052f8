/** A page in the sidebar, by its path from `docs/`. */
export type Entry = { readonly text: string; readonly link: string };
export type Section = { readonly text: string; readonly items: readonly Entry[] };

/** Reads the sections of `docs/README.md`, each with its pages in their order. */
export function sectionsOf(index: string): Section[] {
  const [, ...sections] = index.split(/^## /m);
  return sections.map((section) => {
    const [text = ""] = section.split("\n");
    return { text, items: [...section.matchAll(/^\| \[([^\]]+)\]\(([^)]+)\)/gm)].map(entry) };
  });
}

function entry([, text = "", link = ""]: RegExpExecArray): Entry {
  return { text, link };
}
