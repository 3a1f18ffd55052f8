import { readFileSync } from "node:fs";

/** Tells whether a process runs. A zombie, which has ended but was not reaped by its parent, does not run. */
export function isAlive(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return process.platform !== "linux" && process.kill(pid, 0);
  }
}
