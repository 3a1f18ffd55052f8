import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const HTML_LOAD = /<(?:script|link|img|iframe|source|video)\b[^>]*?\b(?:src|href)="((?:https?:)?\/\/[^"]+)"/g;
const CSS_LOAD = /(?:url\(\s*["']?|@import\s+["'])((?:https?:)?\/\/[^"')]+)/g;

/** The addresses on other hosts that a page or a style sheet loads when a browser shows it. Links for the reader do not count. */
export function foreignLoads(text: string): string[] {
  return [...text.matchAll(HTML_LOAD), ...text.matchAll(CSS_LOAD)].map(([, address = ""]) => address);
}

/** What a built site loads from other hosts, a line for each. Readers may be offline, and no other host should learn what they read. */
export function foreignLoadsIn(site: string): string[] {
  return globSync("**/*.{html,css}", { cwd: site }).flatMap((file) =>
    foreignLoads(readFileSync(join(site, file), "utf8")).map((address) => `${file} loads ${address}`),
  );
}
