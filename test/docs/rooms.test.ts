import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { MAY_IMPORT } from "../../tools/layers.ts";

const ROOT = join(import.meta.dirname, "..", "..");

test("each file that a room's README names is there", () => {
  const readmes = globSync("*/**/README.md", {
    cwd: ROOT,
    exclude: ["node_modules/**", "docs/**", "dist/**"],
  });
  expect(readmes.length).toBeGreaterThan(20);
  const missing = readmes.flatMap((readme) => {
    const text = readFileSync(join(ROOT, readme), "utf8");
    const named = [...text.matchAll(/`([\w./-]+\.ts)`/g)].map(([, file = ""]) => file);
    const room = join(ROOT, dirname(readme));
    // A room names the files of its folders by their own names.
    const isThere = (file: string): boolean =>
      existsSync(join(ROOT, file)) || globSync(`**/${file}`, { cwd: room }).length > 0;
    return named.filter((file) => !isThere(file)).map((file) => `${readme}: ${file}`);
  });
  expect(missing).toEqual([]);
});

test("each room's README names the rooms that it may import", () => {
  const differ = Object.entries(MAY_IMPORT).flatMap(([room, others]) => {
    const readme = ["src", "tools", ""].map((at) => join(ROOT, at, room, "README.md")).find(existsSync);
    // The examples are for users, and `console/page` and `package` have no README.
    if (room === "examples" || readme === undefined) return [];
    const names = others.map((other) => `\`${other}\``).join(", ") || "no other folder";
    return readFileSync(readme, "utf8").includes(`\nMay import: ${names}.`)
      ? []
      : [`${room}/README.md must have the line "May import: ${names}."`];
  });
  expect(differ).toEqual([]);
});
