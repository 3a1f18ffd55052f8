import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import type * as Esbuild from "esbuild";

/** By name, such as `index.html` and `console-4F1C….js`. */
export type PageFiles = ReadonlyMap<string, Uint8Array>;

/** The place in `index.html` that `consolePages` fills with what the page must know about its server. */
export const ABOUT_PLACE = "<!-- about -->";

/**
 * Builds the files of the page. `index.html` names those of the first view. The page loads the others when it needs them. Throws esbuild's
 * error if a source does not compile.
 */
export function buildPage(folder = join(import.meta.dirname, "page")): PageFiles {
  const { buildSync }: typeof Esbuild = createRequire(import.meta.url)("esbuild");
  const { outputFiles, metafile } = buildSync({
    entryPoints: { console: join(folder, "main.tsx") },
    // The names contain hashes, so that a browser never mixes two versions.
    entryNames: "[name]-[hash]",
    chunkNames: "part-[hash]",
    splitting: true,
    outdir: folder,
    absWorkingDir: folder,
    write: false,
    metafile: true,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: ["chrome123", "firefox120", "safari17.5"],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    logLevel: "silent",
  });
  const files = outputFiles.map(({ path, contents }) => [basename(path), contents] as const);
  return new Map([...files, ["index.html", indexOf(metafile.outputs)]]);
}

type Outputs = Esbuild.Metafile["outputs"];

function indexOf(outputs: Outputs): Uint8Array {
  const entry = Object.keys(outputs).find((name) => outputs[name]?.entryPoint === "main.tsx") ?? "";
  const links = [
    `<link rel="stylesheet" href="/console/${outputs[entry]?.cssBundle}">`,
    `<script type="module" src="/console/${entry}"></script>`,
    // Without these links the browser would learn of a part only after it has read the one before.
    ...[...importedBy(entry, outputs)].map((part) => `<link rel="modulepreload" href="/console/${part}">`),
  ];
  const icon = readFileSync(join(import.meta.dirname, "page", "icon.svg"), "base64");
  return new TextEncoder().encode(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="color-scheme" content="light dark">
<title>Minutehand</title>
<link rel="icon" href="data:image/svg+xml;base64,${icon}">
${links.join("\n")}
${ABOUT_PLACE}
</head>
<body><div id="app"></div><noscript>The console needs JavaScript.</noscript></body>
</html>
`);
}

/** The files that a file needs before it runs. A view that is loaded later is not among them. */
function importedBy(file: string, outputs: Outputs): Set<string> {
  const needed = new Set([file]);
  // A set also visits what is added while it is read.
  for (const one of needed)
    for (const { path, kind } of outputs[one]?.imports ?? [])
      if (kind === "import-statement") needed.add(path);
  needed.delete(file);
  return needed;
}
