import { existsSync } from "node:fs";
import type { DataFolder } from "../data-folder.ts";
import { LocalError } from "../local-error.ts";
import { dynoxideProgram, findDynoxide } from "./dynoxide.ts";
import { portableDynamoProgram } from "./portable-dynamo.ts";
import type { SupervisedProgram } from "./supervise.ts";

/** `native`: dynoxide, a program with builds for some platforms. `portable`: the runner's own, which needs only Node. */
export const DATABASES = ["native", "portable"] as const;
export type Database = (typeof DATABASES)[number];

/** Throws `LocalError` if the native one is asked for and not installed. */
export function chooseDatabase(
  asked: Database | undefined,
  platform: string = process.platform,
  arch: string = process.arch,
): Database {
  if (asked === "portable") return asked;
  try {
    findDynoxide(platform, arch);
    return "native";
  } catch (error) {
    if (asked === "native" || !(error instanceof LocalError)) throw error;
    return "portable";
  }
}

/** Says that the other embedded DynamoDB has jobs in this folder and the chosen one has none, or answers `undefined`. */
export function otherDatabase(database: Database, folder: DataFolder): string | undefined {
  const other = database === "native" ? "portable" : "native";
  const files = folder.databaseFiles;
  if (existsSync(files[database]) || !existsSync(files[other])) return undefined;
  return `the jobs of this folder are in ${files[other]}, which this start does not read: --database ${other} reads them`;
}

/** Each of the two keeps its data in a file of its own, or in memory if there is no data folder. */
export function databaseProgram(
  database: Database,
  folder: DataFolder | undefined,
): Promise<{ program: SupervisedProgram; endpoint: string }> {
  const program = { native: dynoxideProgram, portable: portableDynamoProgram }[database];
  return program(folder?.databaseFiles[database]);
}
