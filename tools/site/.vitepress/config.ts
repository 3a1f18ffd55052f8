import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitepress";
import packageJson from "../../../package.json" with { type: "json" };
import { sectionsOf } from "../contents.ts";
import { DOCS } from "../docs.ts";

const FIRST = { text: "Your first job", link: "/start" };
const sections = sectionsOf(readFileSync(join(DOCS, "README.md"), "utf8")).map(({ text, items }) => ({
  text,
  items: items.map((item) => ({ text: item.text, link: `/${item.link.replace(/(index)?\.md$/, "")}` })),
}));

/** The site of `docs/`. Its home page and its sidebar are made from `docs/README.md`. */
export default defineConfig({
  title: "Minutehand",
  description: packageJson.description,
  lang: "en",
  srcDir: "../../docs",
  outDir: "../../dist/site",
  cacheDir: "../../dist/site-cache",
  rewrites: { "README.md": "index.md" },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [FIRST, ...sections.map(({ text, items }) => ({ text, link: items[0]?.link ?? "/" }))],
    sidebar: [{ text: "Start", items: [FIRST] }, ...sections],
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
          { theme: "brand", text: FIRST.text, link: FIRST.link },
          { theme: "alt", text: "Guides", link: "/guides/enqueue" },
        ],
      },
    };
  },
});
