import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

type Release = { readonly version: string; readonly changelog: string; readonly hasNotes: boolean };

/** What keeps a tag from being released, a sentence for each thing. */
export function faultsOf(tag: string, { version, changelog, hasNotes }: Release): string[] {
  const [, unreleased = ""] = /^## Unreleased\n([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(changelog) ?? [];
  return [
    ...(tag === `v${version}` ? [] : [`the tag must be v${version}, as in package.json, got ${tag}`]),
    ...(changelog.includes(`\n## ${version} (`)
      ? []
      : [`CHANGELOG.md has no section "## ${version} (date)"`]),
    ...(unreleased.trim() === "" ? [] : ['CHANGELOG.md has lines under "Unreleased"']),
    ...(hasNotes ? [] : [`.github/release-notes/${tag}.md is missing`]),
  ];
}

if (import.meta.main) {
  const root = join(import.meta.dirname, "..");
  const [tag = ""] = process.argv.slice(2);
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  const hasNotes = existsSync(join(root, `.github/release-notes/${tag}.md`));
  const faults = faultsOf(tag, { version, changelog, hasNotes });
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exitCode = 1;
}
