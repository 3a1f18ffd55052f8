import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { readText } from "./read-text.ts";

/** The commands of a package manager. */
export type PackageManager = {
  readonly install: string;
  readonly addForDevelopment: string;
  /** Runs a script of package.json. */
  readonly run: string;
  /** Runs the script `test`. */
  readonly test: string;
  /** Runs a program of an installed package. */
  readonly exec: string;
};

const NPM = {
  ...{ install: "npm install", addForDevelopment: "npm install --save-dev" },
  ...{ run: "npm run", test: "npm test", exec: "npx" },
};
const PNPM = {
  ...{ install: "pnpm install", addForDevelopment: "pnpm add --save-dev" },
  ...{ run: "pnpm run", test: "pnpm test", exec: "pnpm exec" },
};
const YARN = {
  ...{ install: "yarn install", addForDevelopment: "yarn add --dev" },
  ...{ run: "yarn run", test: "yarn test", exec: "yarn" },
};
/** `bun test` is a test runner of its own. */
const BUN = {
  ...{ install: "bun install", addForDevelopment: "bun add --dev" },
  ...{ run: "bun run", test: "bun run test", exec: "bunx" },
};
const BY_LOCK: Readonly<Record<string, PackageManager>> = {
  "package-lock.json": NPM,
  "pnpm-lock.yaml": PNPM,
  "yarn.lock": YARN,
  "bun.lock": BUN,
  "bun.lockb": BUN,
};

/** Finds the package manager by the lock file of a folder or of its workspace. Without one it is npm. */
export function packageManagerOf(folder: string): PackageManager {
  const places = [folder, workspaceOf(folder) ?? folder];
  const locks = Object.keys(BY_LOCK);
  const [found = ""] = places.flatMap((place) => locks.filter((lock) => existsSync(join(place, lock))));
  return BY_LOCK[found] ?? NPM;
}

/** Finds the folder of the workspace that has the folder's package, if there is one. */
export function workspaceOf(folder: string): string | undefined {
  const parent = dirname(folder);
  if (parent === folder) return undefined;
  return isWorkspace(parent) ? parent : workspaceOf(parent);
}

function isWorkspace(folder: string): boolean {
  return existsSync(join(folder, "pnpm-workspace.yaml")) || "workspaces" in manifestOf(folder);
}

/** Reads the package.json of a folder. Answers `{}` if there is none, or none that a package manager reads. */
export function manifestOf(folder: string): object {
  try {
    return Object(JSON.parse(readText(join(folder, "package.json"))));
  } catch {
    return {};
  }
}
