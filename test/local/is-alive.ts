import { readFileSync } from "node:fs";

/** A process that ended but was not collected by its parent yet is there, but as a zombie. */
export function isAlive(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return process.platform !== "linux" && process.kill(pid, 0);
  }
}
