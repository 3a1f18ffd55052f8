import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type * as Esbuild from "esbuild";

/** By name, such as `index.html` and `console-4f1c….js`. */
export type PageFiles = ReadonlyMap<string, Uint8Array>;

/** The place in `index.html` that `consolePages` fills with what the page must know about its server. */
export const ABOUT_PLACE = "<!-- about -->";

/** Names contain hashes, so that a browser never mixes two versions. Throws esbuild's error if a source does not compile. */
export function buildPage(folder = join(import.meta.dirname, "page")): PageFiles {
  const { buildSync }: typeof Esbuild = createRequire(import.meta.url)("esbuild");
  const { outputFiles } = buildSync({
    entryPoints: { console: join(folder, "main.tsx") },
    outdir: folder,
    absWorkingDir: folder,
    write: false,
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
  const files = outputFiles.map(({ path, contents }) => [hashedName(path, contents), contents] as const);
  return new Map([...files, ["index.html", indexOf(files.map(([name]) => name))]]);
}

function hashedName(path: string, contents: Uint8Array): string {
  const hash = createHash("sha256").update(contents).digest("hex").slice(0, 12);
  return `console-${hash}${path.slice(path.lastIndexOf("."))}`;
}

function indexOf(names: readonly string[]): Uint8Array {
  const links = names.map((name) =>
    name.endsWith(".css")
      ? `<link rel="stylesheet" href="/console/${name}">`
      : `<script type="module" src="/console/${name}"></script>`,
  );
  const icon = readFileSync(join(import.meta.dirname, "page", "icon.svg"), "base64");
  return new TextEncoder().encode(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
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
