import { chmodSync } from "node:fs";

const NOBODY = 65_534;

/** Runs `act` in a folder as a user for whom these paths have `mode`. Default: the user cannot read the paths. */
export function asAnotherUser<T>(folder: string, paths: readonly string[], act: () => T, mode = 0): T {
  const isRoot = process.geteuid?.() === 0;
  const cwd = process.cwd();
  // The user may have no access to the folders above, so paths are relative.
  process.chdir(folder);
  chmodSync(".", 0o755);
  for (const path of paths) chmodSync(path, mode);
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    return act();
  } finally {
    if (isRoot) process.seteuid?.(0);
    for (const path of paths) chmodSync(path, 0o700);
    process.chdir(cwd);
  }
}
