import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, createServer } from "vitepress";
import packageJson from "../../package.json" with { type: "json" };
import { checkSite } from "./check-site.ts";
import { sectionsOf } from "./contents.ts";
import { DOCS } from "./docs.ts";
import { llmsText } from "./llms.ts";
import { writeTables } from "./tables.ts";

const [command = "build"] = process.argv.slice(2);
writeTables();
if (command === "dev") {
  const server = await createServer(import.meta.dirname);
  await server.listen();
  server.printUrls();
} else if (command === "build") {
  const site = join(import.meta.dirname, "..", "..", "dist", "site");
  await build(import.meta.dirname);
  // Programs read the Markdown and the OpenAPI document.
  cpSync(DOCS, site, {
    recursive: true,
    filter: (path) => !/\.\w+$/.test(path) || /\.(md|json)$/.test(path),
  });
  const index = readFileSync(join(DOCS, "README.md"), "utf8");
  writeFileSync(join(site, "llms.txt"), llmsText(sectionsOf(index), packageJson));
  await checkSite(site, new URL(packageJson.homepage).pathname);
} else {
  console.error(`the command must be build or dev, got "${command}"`);
  process.exitCode = 2;
}
