import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brokenLinks } from "./links.ts";
import { foreignLoadsIn } from "./loads.ts";
import { badlyFound, searchOf } from "./search.ts";

/** The pages with a row for each name that readers search for. */
const LISTS = ["reference/errors", "reference/configuration"];
const NAMED_ROW = /<tr id="[^"]+">\s*<td[^>]*><code>([^<]+)<\/code>/g;

/** Throws if a page of a built site loads from another host, has a link that leads nowhere, or is not found by the names that it lists. */
export async function checkSite(site: string, base: string): Promise<void> {
  const search = await searchOf(site);
  const lost = LISTS.flatMap((page) => {
    const html = readFileSync(join(site, `${page}.html`), "utf8");
    const names = [...html.matchAll(NAMED_ROW)].map(([, name = ""]) => name);
    return badlyFound(search, names, page).map((name) => `a search for ${name} does not find ${page} first`);
  });
  const faults = [...foreignLoadsIn(site), ...brokenLinks(site, base), ...lost];
  if (faults.length > 0) throw new Error(`the site has faults:\n${faults.join("\n")}`);
}
