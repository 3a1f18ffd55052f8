import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { errorCode } from "./local-error.ts";

/** Sends a signal to a process, or to a process group by its negative id. Does nothing if the process has ended. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) !== "ESRCH") throw error;
  }
}

/** Answers the command line of a process, or an empty text if there is no such process. */
export function commandOf(pid: number): string {
  try {
    if (process.platform === "linux")
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    return execFileSync("ps", ["-o", "command=", "-p", String(pid)], { encoding: "utf8" });
  } catch {
    return "";
  }
}
