import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { errorCode } from "../local-error.ts";

/** Options of a child that Ctrl-C must not reach. Windows would open a console for it. */
export const DETACHED = { detached: true, windowsHide: true } as const;

/** Sends a signal to a process, or to a process group by its negative id. Does nothing if the process has ended. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) !== "ESRCH") throw error;
  }
}

export function killTree(pid: number, platform: NodeJS.Platform = process.platform): void {
  const command = treeKiller(pid, platform);
  if (command === undefined) {
    signalProcess(-pid, "SIGKILL");
    return;
  }
  const [program = "", ...args] = command;
  try {
    execFileSync(program, args, { stdio: "ignore", windowsHide: true });
  } catch {
    // The processes have ended by themselves.
  }
}

/** Windows has no process groups. `undefined` elsewhere: a detached child leads a group, and one signal ends the group. */
export function treeKiller(pid: number, platform: NodeJS.Platform): string[] | undefined {
  return platform === "win32" ? ["taskkill", "/pid", String(pid), "/t", "/f"] : undefined;
}

/** Whether a process with this id runs, also one of another user. */
export function isProcessRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}

/** Answers the command line of a process. Answers an empty text if there is no such process, or no way to read it, as on Windows. */
export function commandOf(pid: number, platform: NodeJS.Platform = process.platform): string {
  try {
    if (platform === "linux") return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    if (platform === "win32") return "";
    return execFileSync("ps", ["-o", "command=", "-p", String(pid)], { encoding: "utf8" });
  } catch {
    return "";
  }
}

/** The variables that the emulators and the guard get. The environment of a developer has secrets that none of them needs. */
export function emulatorVariables(
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  // Node keeps compiled code there, which makes their start faster.
  const { NODE_COMPILE_CACHE } = env;
  return {
    ...machineVariables(env, platform),
    ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }),
  };
}

/** The variables of this machine that a function gets: where programs and temporary files are, and what Windows needs to start Node. */
export function machineVariables(
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  const { PATH = "", TMPDIR = "/tmp" } = env;
  if (platform !== "win32") return { PATH, TMPDIR };
  // Windows ignores the case of a name, and so does `process.env` there.
  const names = ["PATH", "PATHEXT", "SystemRoot", "COMSPEC", "TEMP", "TMP", "USERPROFILE"];
  return Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}
