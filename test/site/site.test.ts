import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import MiniSearch from "minisearch";
import { createMarkdownRenderer } from "vitepress";
import { expect, test } from "vitest";
import { checkSite } from "../../tools/site/check-site.ts";
import { sectionsOf } from "../../tools/site/contents.ts";
import { brokenLinks } from "../../tools/site/links.ts";
import { llmsText } from "../../tools/site/llms.ts";
import { nameRows, withSectionsOfRows } from "../../tools/site/rows.ts";
import { boostDocument } from "../../tools/site/search.ts";

function siteOf(files: Readonly<Record<string, string>>): string {
  const site = mkdtempSync(join(tmpdir(), "minutehand-site-"));
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(site, file)), { recursive: true });
    writeFileSync(join(site, file), text);
  }
  return site;
}

const PAGES = { "index.html": '<h1 id="top">A</h1>', "guides/a.html": "<p>", "guides/index.html": "<p>" };

test.each([
  "/base/",
  "/base/#top",
  "/base/guides/a.html?delay=1",
  "/base/guides/",
  "a.html",
  "../index.html#top",
  "https://example.com/404",
  "#own",
])("a link to %s leads somewhere", (link) => {
  const site = siteOf({ ...PAGES, "guides/b.html": `<a class="x" href="${link}" id="own">b</a>` });
  expect(brokenLinks(site, "/base/")).toEqual([]);
});

test.each(["/guides/a.html", "/base/guides/a", "/base/guides", "a.html#none", "#none", "../openapi.json"])(
  "a link to %s leads nowhere",
  (link) => {
    const site = siteOf({ ...PAGES, "guides/b.html": `<a href="${link}">b</a>` });
    expect(brokenLinks(site, "/base/")).toEqual([`guides/b.html links to ${link}`]);
  },
);

test("llms.txt has a line for each page, with its address and what it is about", () => {
  const index =
    "# D\n\n## Guides\n\n| page | what |\n| - | - |\n| [Pull](guides/pull.md)   | take jobs    |\n";
  const about = { description: "A queue.", homepage: "https://example.com/base/" };
  expect(llmsText(sectionsOf(index), about)).toBe(`# Minutehand

> A queue.

## Start

- [Your first job](https://example.com/base/start.md): file and run a first job in a project of your own, in ten minutes

## Guides

- [Pull](https://example.com/base/guides/pull.md): take jobs
`);
});

test("a row that a name begins has an id, and is a section of its own in the search", async () => {
  const md = await createMarkdownRenderer(".", { config: nameRows });
  const table = "| setting | range |\n| - | - |\n| `maxAge` | **1** |\n| `maxAge` | 2 |\n";
  const html = await md.renderAsync(`# T\n\n${table}\n| word |\n| - |\n| \`plain\` |\n`);
  expect(html.match(/<tr id="[^"]*">/g)).toEqual(['<tr id="maxage">', '<tr id="maxage-1">']);
  expect(html).toContain('<td data-head="range"><strong>1</strong></td>');
  const [, ...sections] = withSectionsOfRows(html).split("<h3 ");
  expect(sections).toHaveLength(2);
  expect(sections[0]).toMatch(
    /^id="maxage"><code.*>maxAge<\/code> <a href="#maxage">#<\/a><\/h3>\n<p>[\s\S]*1/,
  );
});

test("a site with a lost link, a foreign picture and a code that the search finds elsewhere is refused", async () => {
  const index = new MiniSearch({ fields: ["title", "titles", "text"], storeFields: ["title", "titles"] });
  index.addAll([
    { id: "/guides/a.html#too-large", title: "too-large", titles: [], text: "" },
    { id: "/reference/errors.html#errors", title: "Errors", titles: [], text: "a long text of too-large" },
  ]);
  const site = siteOf({
    "reference/errors.html": '<tr id="too-large"><td><code>too-large</code></td></tr>',
    "reference/configuration.html": '<a href="/none"><img src="https://pictures.example/d.png">',
    "assets/chunks/@localSearchIndexroot.1.js": `export default ${JSON.stringify(JSON.stringify(index))}`,
  });
  await expect(checkSite(site, "/")).rejects.toThrow(
    "the site has faults:\n" +
      "reference/configuration.html loads https://pictures.example/d.png\n" +
      "reference/configuration.html links to /none\n" +
      "a search for too-large does not find reference/errors first",
  );
});

test("codes and settings count more than other sections, and internals less", () => {
  const boosts = ["reference/errors.html#a", "guides/pull.html", "internals/overview.html"].map((path) =>
    boostDocument(`/base/${path}`),
  );
  expect(boosts).toEqual([...boosts].sort().reverse());
  expect(new Set(boosts).size).toBe(3);
});
