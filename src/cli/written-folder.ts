import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { WRITTEN_LIST as LIST } from "../../local/app/sources.ts";
import { CliError } from "./cli-error.ts";

/** Lambda runs its code as another user than the one who has packed it ("Deploy Node.js Lambda functions with .zip file archives"). */
const READABLE = 0o644;

type Files = ReadonlyMap<string, Uint8Array>;
type Hashes = Readonly<Record<string, string>>;

/**
 * Makes a folder have these files. Writes into a new or empty folder, and with `force` into one that has a list of what was written before:
 * then files that are no longer needed are deleted. Changes nothing and throws a `CliError` if a file in the way was not written before, or
 * was changed since.
 * @param name the folder's name in errors
 * @param files the contents by their paths in the folder
 */
export function writeFolder(
  folder: string,
  name: string,
  files: Files,
  force: boolean,
): { wrote: number; deleted: number } {
  try {
    if (!force && existsSync(folder) && readdirSync(folder).length > 0)
      throw new CliError(
        `${name} is not empty: choose another --out, or give --force to replace what an earlier run has written there`,
      );
    const before = readList(join(folder, LIST), name);
    const old = Object.keys(before).filter((path) => !files.has(path) && existsSync(join(folder, path)));
    const foreign = [...files.keys(), ...old].filter((path) =>
      isForeign(join(folder, path), before[path], files.get(path)),
    );
    if (foreign.length > 0)
      throw new CliError(
        `${name} has files that "minutehand template" has not written so: ${foreign.join(", ")}. Move or delete them`,
      );
    for (const path of old) rmSync(join(folder, path));
    // A file that keeps its time gives the same archive in `aws cloudformation package`, so its function is not updated.
    const changed = [...files].filter(([path, contents]) => !hasContents(join(folder, path), contents));
    for (const [path, contents] of changed) write(join(folder, path), contents);
    const hashes = Object.fromEntries([...files].map(([path, contents]) => [path, hashOf(contents)]));
    write(join(folder, LIST), `${JSON.stringify(hashes, undefined, 2)}\n`);
    return { wrote: changed.length, deleted: old.length };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new CliError(`${name} cannot be written: ${message}`);
  }
}

function isForeign(file: string, before: string | undefined, contents: Uint8Array | undefined): boolean {
  if (!existsSync(file)) return false;
  // A file may already have its new contents, because an earlier run was interrupted.
  return hashOf(readFileSync(file)) !== before && (contents === undefined || !hasContents(file, contents));
}

function hasContents(file: string, contents: Uint8Array): boolean {
  return existsSync(file) && readFileSync(file).equals(contents);
}

/** Answers nothing if there is no list. */
function readList(file: string, name: string): Hashes {
  if (!existsSync(file)) return {};
  const list = parsed(file);
  // A list that somebody else wrote may name files outside the folder.
  const isOwn = (path: string) => /^(template\.json|functions\/[\w-]+\/[\w.-]+)$/.test(path);
  if (list && Object.keys(list).every(isOwn)) return list;
  throw new CliError(`${name}/${LIST} is not the list of what "minutehand template" has written`);
}

/** `undefined`: the file is damaged. */
function parsed(file: string): Hashes | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) ?? undefined;
  } catch {
    return undefined;
  }
}

function write(file: string, contents: Uint8Array | string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, contents);
  chmodSync(file, READABLE);
}

function hashOf(contents: Uint8Array): string {
  return createHash("sha256").update(contents).digest("hex");
}
