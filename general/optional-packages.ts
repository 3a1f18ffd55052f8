import { createRequire } from "node:module";
import packageJson from "../package.json" with { type: "json" };

/** A package that is installed only by users who need it. */
export type OptionalPackage = keyof typeof packageJson.peerDependencies;

const { resolve } = createRequire(import.meta.url);

/**
 * Answers one sentence with the packages that are not installed and the command that installs the right versions. Answers `undefined`
 * if all are installed. `who`: what needs the packages, such as `minutehand local`.
 */
export function missingPackages(
  who: string,
  names: readonly OptionalPackage[],
  isInstalled: (name: OptionalPackage) => boolean = canResolve,
): string | undefined {
  const missing = names.filter((name) => !isInstalled(name));
  if (missing.length === 0) return undefined;
  const [packages, are] = missing.length === 1 ? ["package", "is"] : ["packages", "are"];
  return `${who} needs the npm ${packages} ${missing.join(" and ")}, which ${are} not installed: ${installCommand(missing)}`;
}

/** Throws an error with the sentence of `missingPackages` if a package is not installed. */
export function requirePackages(who: string, ...names: readonly OptionalPackage[]): void {
  const missing = missingPackages(who, names);
  if (missing !== undefined) throw new Error(missing);
}

/** Answers the command for these packages, in the versions that Minutehand works with. */
function installCommand(names: readonly OptionalPackage[]): string {
  const versioned = names.map((name) => `${name}@${packageJson.peerDependencies[name]}`);
  // A version range is quoted, because a shell would interpret characters such as `^` and `>`.
  return `npm install --save-dev ${versioned.map((text) => (/^[\w@/.-]+$/.test(text) ? text : `"${text}"`)).join(" ")}`;
}

function canResolve(name: OptionalPackage): boolean {
  try {
    resolve(`${name}/package.json`);
    return true;
  } catch (error) {
    // The package is installed, but it does not export its package.json.
    return (error as NodeJS.ErrnoException).code === "ERR_PACKAGE_PATH_NOT_EXPORTED";
  }
}
