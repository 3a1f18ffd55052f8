import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { table } from "../markdown.ts";

export function decisions(docs: string): string {
  const folder = join(docs, "internals", "decisions");
  const rows = globSync("*.md", { cwd: folder, exclude: ["index.md"] })
    .sort()
    .map((file) => {
      const [, title] = /^# (.+)\n/.exec(readFileSync(join(folder, file), "utf8")) ?? [];
      if (title === undefined) throw new Error(`a decision must begin with its title, but ${file} does not`);
      return [`[${title}](${file})`];
    });
  return table(["decision"], rows);
}
