import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { PageFiles } from "./build.ts";

/** The folder in the package that has the built page. In the repository the folder does not exist. */
export const BUILT_FOLDER = "built";

/** Reads the built page from the package, or builds the page from its sources in the repository. */
export async function readPageFiles(built = join(import.meta.dirname, BUILT_FOLDER)): Promise<PageFiles> {
  if (!existsSync(built)) return (await import("./build.ts")).buildPage();
  return new Map(readdirSync(built).map((name) => [name, readFileSync(join(built, name))]));
}
