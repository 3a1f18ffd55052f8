/**
 * Fills `dist/npm`, which `npm pack` ships: JavaScript and types of the package's entries and of all that they import, in the folders
 * of their sources, and a bundle for each of the construct's functions. `npm pack` runs this program.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { buildPage } from "../../console/build.ts";
import { BUILT_FOLDER } from "../../console/page-files.ts";
import { buildFunction, CONSTRUCT_FUNCTIONS, entryOf } from "../../infra/bundling/build.ts";
import { esbuild } from "../../infra/bundling/bundle.ts";
import { codeOf, entriesOf, type Manifest, OUT_DIR, readManifest } from "./entries.ts";

const ROOT = join(import.meta.dirname, "../..");
const OUT = join(ROOT, OUT_DIR);
/** Programs that no file imports, because the local stack names them by their paths. */
const PROGRAMS = [
  ...["dynamodb", "fauxqs", "function", "guard"].map((name) => `local/processes/${name}-process.ts`),
  "local/app/inputs-preload.ts",
];

const PYTHON_PROGRAM = "local/processes/function-process.py";

/** Dependencies that have no CommonJS. The package's CommonJS file must contain them. */
const ONLY_ESM = ["ky"];

const manifest = readManifest(ROOT);
rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
compile([...entriesOf(manifest), ...PROGRAMS]);
nameImportedTypes();
dropInnerTypes(manifest);
// The code reads its version, and those of the optional packages, from this file. tsc has copied the whole manifest, whose paths would be
// wrong in this folder. `init` reads from it which packages an app needs, and in which versions.
// Bundlers read from it that they may leave out unused modules.
const { name, version, sideEffects, peerDependencies, dependencies, devDependencies } = manifest;
const read = { name, version, type: "module", sideEffects, peerDependencies, dependencies, devDependencies };
writeFileSync(join(OUT, "package.json"), JSON.stringify(read));
writeCommonJs(manifest);
mkdirSync(join(OUT, "console", BUILT_FOLDER), { recursive: true });
for (const [name, content] of buildPage()) writeFileSync(join(OUT, "console", BUILT_FOLDER, name), content);
cpSync(join(ROOT, PYTHON_PROGRAM), join(OUT, PYTHON_PROGRAM));
for (const fn of CONSTRUCT_FUNCTIONS)
  cpSync(buildFunction(entryOf(fn)), join(OUT, "functions", fn), { recursive: true });

function compile(files: readonly string[]): void {
  const config = join(ROOT, "dist", "tsconfig.package.json");
  const settings = {
    extends: "../tsconfig.package.json",
    include: [],
    files: files.map((file) => relative(join(ROOT, "dist"), join(ROOT, file))),
  };
  writeFileSync(config, JSON.stringify(settings));
  // Not the program in `.bin`, which is a script for a shell on Windows.
  const tsc = join(ROOT, "node_modules", "typescript", "bin", "tsc");
  execFileSync(process.execPath, [tsc, "--project", config], { cwd: ROOT, stdio: "inherit" });
}

/**
 * Writes CommonJS for programs that cannot load ESM, such as Jest. One file has the code of all exports, so that a class such as
 * `MinutehandError` is the same for all of them. A file for each export loads the code of this export only.
 */
function writeCommonJs(manifest: Manifest): void {
  const exported = codeOf(manifest);
  const all = join(OUT, "commonjs", "all.cjs");
  const getters = exported.map(
    ({ name, esm }) => `get ${JSON.stringify(name)}() { return require(${JSON.stringify(esm)}); }`,
  );
  esbuild().buildSync({
    stdin: { contents: `module.exports = { ${getters.join(", ")} };`, resolveDir: ROOT },
    outfile: all,
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node22",
    define: { "import.meta.url": "__filename", "import.meta.dirname": "__dirname" },
    external: Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }).filter(
      (name) => !ONLY_ESM.includes(name),
    ),
    logLevel: "warning",
  });
  for (const { name, commonJs } of exported)
    writeFileSync(join(ROOT, commonJs), `module.exports = require("./all.cjs")[${JSON.stringify(name)}];\n`);
}

/** Rewrites imports of `./x.ts` to `./x.js` in declarations, because tsc rewrites imports in code only. */
function nameImportedTypes(): void {
  for (const file of readdirSync(OUT, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".d.ts")) continue;
    const path = join(OUT, file);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replace(/((?:from |import\()"\.[^"]*)\.ts"/g, '$1.js"'));
  }
}

/** Deletes the declarations that no declaration of an export imports: users cannot import them, and they take 2 MB of a disk. */
function dropInnerTypes(manifest: Manifest): void {
  const kept = new Set<string>();
  const keep = (path: string): void => {
    if (kept.has(path)) return;
    kept.add(path);
    for (const [, imported = ""] of readFileSync(path, "utf8").matchAll(/(?:from |import\()"(\.[^"]*)\.js"/g))
      keep(join(dirname(path), `${imported}.d.ts`));
  };
  for (const { types } of codeOf(manifest)) keep(join(ROOT, types));
  for (const file of readdirSync(OUT, { recursive: true, encoding: "utf8" }))
    if (file.endsWith(".d.ts") && !kept.has(join(OUT, file))) rmSync(join(OUT, file));
}
