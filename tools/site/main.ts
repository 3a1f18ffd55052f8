import { join } from "node:path";
import { build, createServer } from "vitepress";
import { checkLoads } from "./loads.ts";
import { writeTables } from "./tables.ts";

const [command = "build"] = process.argv.slice(2);
writeTables();
if (command === "dev") {
  const server = await createServer(import.meta.dirname);
  await server.listen();
  server.printUrls();
} else if (command === "build") {
  await build(import.meta.dirname);
  checkLoads(join(import.meta.dirname, "..", "..", "dist", "site"));
} else {
  console.error(`the command must be build or dev, got "${command}"`);
  process.exitCode = 2;
}
