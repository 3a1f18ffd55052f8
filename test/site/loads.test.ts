import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { foreignLoads, foreignLoadsIn } from "../../tools/site/loads.ts";

test.each([
  ['<script type="module" src="https://cdn.example/a.js"></script>', "https://cdn.example/a.js"],
  ['<link rel="stylesheet" href="//fonts.example/b.css">', "//fonts.example/b.css"],
  ['@font-face{src:url("https://fonts.example/c.woff2")}', "https://fonts.example/c.woff2"],
  ['@import "https://fonts.example/d.css"', "https://fonts.example/d.css"],
])("%s loads from another host", (text, address) => {
  expect(foreignLoads(text)).toEqual([address]);
});

test.each([
  '<a href="https://pypi.org/project/ministack/">MiniStack</a>',
  '<script src="/assets/app.js"></script>',
  '<svg xmlns="http://www.w3.org/2000/svg"></svg>',
])("%s does not", (text) => {
  expect(foreignLoads(text)).toEqual([]);
});

test("a site that does is refused, by its page and the address", () => {
  const site = mkdtempSync(join(tmpdir(), "minutehand-site-"));
  writeFileSync(join(site, "index.html"), '<img src="https://pictures.example/d.png">');
  writeFileSync(join(site, "style.css"), "@import url(https://fonts.example/e.css)");
  expect(foreignLoadsIn(site).sort()).toEqual([
    "index.html loads https://pictures.example/d.png",
    "style.css loads https://fonts.example/e.css",
  ]);
});
