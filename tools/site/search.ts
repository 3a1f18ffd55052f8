import { globSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import MiniSearch from "minisearch";

/**
 * How much a section counts, by its path: readers who search for an error code or a setting want its row first, and few want the internals.
 * The site contains the text of this function, so it may name nothing outside.
 */
export function boostDocument(path: string): number {
  if (/\/reference\/(errors|configuration)\b/.test(path)) return 1.5;
  return path.includes("/internals/") ? 0.5 : 1;
}

/** What VitePress sets in its pages for the search, and our boost. */
const OPTIONS = {
  fields: ["title", "titles", "text"],
  storeFields: ["title", "titles"],
  searchOptions: { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 }, boostDocument },
};

/** Reads the index of a built site, and answers the search that its pages have: text to the paths of sections, the best first. */
export async function searchOf(site: string): Promise<(text: string) => string[]> {
  const [file = ""] = globSync("assets/chunks/@localSearchIndex*.js", { cwd: site });
  const { default: json } = await import(pathToFileURL(join(site, file)).href);
  const index = MiniSearch.loadJSON(json, OPTIONS);
  return (text) => index.search(text).map(({ id }) => id);
}

/** The names whose first hit is not on their page. */
export function badlyFound(
  search: (text: string) => readonly string[],
  names: readonly string[],
  page: string,
): string[] {
  return names.filter((name) => !search(name)[0]?.includes(page));
}
