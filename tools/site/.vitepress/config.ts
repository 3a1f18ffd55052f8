import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitepress";
import packageJson from "../../../package.json" with { type: "json" };
import { DECISIONS, decisionsIn, FIRST, type Link, sectionsOf } from "../contents.ts";
import { DOCS } from "../docs.ts";
import { nameRows, slugOf, withSectionsOfRows } from "../rows.ts";
import { boostDocument } from "../search.ts";

/** A clock whose minute hand points upwards. */
const ICON =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><circle cx='8' cy='8' r='7' fill='%232563eb'/><path d='M8 3v5l3 2' stroke='white' stroke-width='1.5' fill='none'/></svg>";

const start = linkOf(FIRST);
const sections = sectionsOf(readFileSync(join(DOCS, "README.md"), "utf8")).map(({ text, items }) => ({
  text,
  // The section of the present page is open.
  collapsed: true,
  items: items.map((item) =>
    item.link === DECISIONS
      ? { ...linkOf(item), collapsed: true, items: decisionsIn(DOCS).map(linkOf) }
      : linkOf(item),
  ),
}));

function linkOf({ text, link }: Link) {
  return { text, link: `/${link.replace(/(index)?\.md$/, "")}` };
}

/** The site of `docs/`. Its home page and its sidebar are made from `docs/README.md`. */
export default defineConfig({
  title: "Minutehand",
  description: packageJson.description,
  lang: "en",
  srcDir: "../../docs",
  outDir: "../../dist/site",
  cacheDir: "../../dist/site-cache",
  base: new URL(packageJson.homepage).pathname,
  head: [["link", { rel: "icon", href: ICON }]],
  // The index of the search is larger than Vite's usual limit. A page loads it when a reader begins to search.
  vite: { build: { chunkSizeWarningLimit: 1000 } },
  markdown: { anchor: { slugify: slugOf }, config: nameRows },
  rewrites: { "README.md": "index.md" },
  themeConfig: {
    search: {
      provider: "local",
      options: {
        _render: async (text, env, md) => withSectionsOfRows(await md.renderAsync(text, env)),
        miniSearch: { searchOptions: { boostDocument } },
      },
    },
    outline: [2, 3],
    nav: [start, ...sections.map(({ text, items }) => ({ text, link: items[0]?.link ?? "/" }))],
    sidebar: [{ text: "Start", items: [start] }, ...sections],
    socialLinks: [{ icon: "github", link: packageJson.repository.url.replace(/^git\+|\.git$/g, "") }],
  },
  transformPageData(page) {
    if (page.relativePath !== "index.md") return;
    page.frontmatter = {
      layout: "home",
      hero: {
        name: "Minutehand",
        text: "A serverless delay queue on AWS",
        tagline: "Do this later, exactly then, unless I change my mind.",
        actions: [
          { theme: "brand", ...start },
          { theme: "alt", text: "Guides", link: "/guides/enqueue" },
        ],
      },
    };
  },
});
