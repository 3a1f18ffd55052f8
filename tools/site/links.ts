import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const LINK = /<(?:a|img|link|script|source)\b[^>]*?\s(?:href|src)="([^"]*)"/g;
const ID = /\sid="([^"]*)"/g;
/** Only the paths of these addresses count. */
const HOST = "http://site.invalid";

/** The links of a built site that lead to none of its files or headings, a line for each. `base`: the path of the site on its host. */
export function brokenLinks(site: string, base: string): string[] {
  const texts = new Map(
    globSync("**/*.html", { cwd: site }).map((page) => [page, readFileSync(join(site, page), "utf8")]),
  );
  const leadsSomewhere = (link: string, page: string): boolean => {
    const { origin, pathname, hash } = new URL(link, `${HOST}${base}${page}`);
    if (origin !== HOST) return true;
    const file = pathname.startsWith(base) ? fileOf(site, decodeURI(pathname.slice(base.length))) : undefined;
    if (file === undefined) return false;
    return hash === "" || idsIn(texts.get(file) ?? "").has(decodeURIComponent(hash.slice(1)));
  };
  return [...texts]
    .sort()
    .flatMap(([page, text]) =>
      [...new Set([...text.matchAll(LINK)].map(([, link = ""]) => link.replaceAll("&amp;", "&")))]
        .filter((link) => !leadsSomewhere(link, page))
        .map((link) => `${page} links to ${link}`),
    );
}

/** The file that a server of static files, such as GitHub Pages, answers for a path. */
function fileOf(site: string, path: string): string | undefined {
  return [path, `${path}index.html`.replace(/^\//, "")].find((file) => {
    const full = join(site, file);
    return file !== "" && existsSync(full) && statSync(full).isFile();
  });
}

function idsIn(text: string): Set<string> {
  return new Set([...text.matchAll(ID)].map(([, id = ""]) => id));
}
