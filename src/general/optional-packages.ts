import { createRequire } from "node:module";
import packageJson from "../../package.json" with { type: "json" };
import { packageManagerOf } from "./package-manager.ts";

export type OptionalPackage = keyof typeof packageJson.peerDependencies;

const { resolve } = createRequire(import.meta.url);

/** One sentence with the missing packages and the command that installs them. `who`: what needs them, such as `minutehand local`. */
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

export function requirePackages(who: string, ...names: readonly OptionalPackage[]): void {
  const missing = missingPackages(who, names);
  if (missing !== undefined) throw new Error(missing);
}

function installCommand(names: readonly OptionalPackage[]): string {
  const versioned = names.map((name) => `${name}@${packageJson.peerDependencies[name]}`);
  // A shell would interpret `^` and `>`.
  const { addForDevelopment } = packageManagerOf(process.cwd());
  return `${addForDevelopment} ${versioned.map((text) => (/^[\w@/.-]+$/.test(text) ? text : `"${text}"`)).join(" ")}`;
}

function canResolve(name: OptionalPackage): boolean {
  try {
    resolve(`${name}/package.json`);
    return true;
  } catch (error) {
    // It is installed, but does not export its package.json.
    return (error as NodeJS.ErrnoException).code === "ERR_PACKAGE_PATH_NOT_EXPORTED";
  }
}
