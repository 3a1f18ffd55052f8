import { globSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { TextDocument } from "vscode-languageserver-textdocument";

// GitHub's package imports JSON without saying so, which bundlers allow and Node refuses.
registerHooks({
  load: (url, context, next) =>
    next(url, url.endsWith(".json") ? { ...context, importAttributes: { type: "json" } } : context),
});

/** `uses:` of an action of another repository, and what names its version. */
const USES = /^\s*(?:- )?uses: (?!\.\/)\S+?@(.*)$/;
/** A tag can be moved to other code, a commit cannot. Dependabot reads the comment. */
const PINNED = /^[0-9a-f]{40} # v\d+\.\d+\.\d+$/;

/** What is wrong with a workflow, a line for each thing: GitHub's own findings, and actions that are not pinned to a commit. */
export async function faultsIn(file: string, text: string): Promise<string[]> {
  const { validate } = await import("@actions/languageservice");
  const { clearCache } = await import("@actions/languageservice/utils/workflow-cache");
  // Without this call, a second text of the same file would get the findings of the first.
  clearCache();
  const found = await validate(TextDocument.create(`file:///${file}`, "yaml", 0, text));
  const unpinned = text.split("\n").flatMap((line, i) => {
    const version = USES.exec(line)?.[1];
    return version === undefined || PINNED.test(version)
      ? []
      : [`${file}:${i + 1}: name the action's commit and version, as in "@<40 digits> # v1.2.3"`];
  });
  return [...found.map(({ range, message }) => `${file}:${range.start.line + 1}: ${message}`), ...unpinned];
}

if (import.meta.main) {
  const root = join(import.meta.dirname, "..");
  for (const file of globSync(".github/workflows/*.{yml,yaml}", { cwd: root }).sort())
    for (const fault of await faultsIn(file, readFileSync(join(root, file), "utf8"))) {
      console.error(fault);
      process.exitCode = 1;
    }
}
