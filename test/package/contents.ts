import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { homedir, hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../deploy/environment.ts";

const MOST_MIB = 10;
const MIB = 1024 * 1024;
/** The files that a package may have. It must not have source maps, or sources other than the examples'. */
export const KINDS =
  /\.(js|mjs|cjs|d\.ts|json|md|svg)$|^docs\/pictures\/.*\.(png|sha256)$|^LICENSE$|^examples\/.*\.(ts|py|go|mod|sum)$|^dist\/npm\/local\/processes\/function-process\.py$|^dist\/npm\/console\/built\/[^/]*\.(html|css)$/;
const NEEDED = ["LICENSE", "README.md", "CHANGELOG.md", "dist/npm/console/built/index.html"];
const INSTALL_SCRIPTS = ["preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare"];

/** What is wrong with an unpacked package, a line for each thing. */
export function faultsIn(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) =>
    statSync(join(folder, file)).isFile(),
  );
  const bytes = files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
  const { scripts = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const here = [ROOT, tmpdir(), homedir(), hostname()].filter((name) => name.length > 3);
  return [
    ...NEEDED.filter((file) => !existsSync(join(folder, file))).map((file) => `${file} is missing`),
    ...files.filter((file) => !KINDS.test(file)).map((file) => `${file} is no part of a package`),
    ...files.filter((file) => /(^|\/)test\//.test(file)).map((file) => `${file} is a test`),
    ...INSTALL_SCRIPTS.filter((name) => name in scripts).map((name) => `${name} runs at an install`),
    ...files.flatMap((file) =>
      placesIn(join(folder, file), here).map(
        (place) => `${file} contains ${place}, a path or name of this machine`,
      ),
    ),
    ...(bytes > MOST_MIB * MIB
      ? [`the package has ${(bytes / MIB).toFixed(1)} MiB; allowed: ${MOST_MIB}`]
      : []),
  ];
}

/** The names of this machine and of its folders (`here`) that a file contains. */
function placesIn(path: string, here: readonly string[]): string[] {
  const text = readFileSync(path, "utf8");
  return here.filter((place) => text.includes(place.endsWith("/") ? place : `${place}/`));
}
