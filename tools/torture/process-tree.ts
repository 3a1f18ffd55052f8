import { readdirSync, readFileSync } from "node:fs";

/** A process of this machine. The system may give its id to another process later, but not with the same start time. */
export type ProcessInfo = {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
  /** Clock ticks since the machine started. */
  readonly startTime: number;
};

/** All descendants of `pid`: first its children, then their children, and so on. Reads Linux's /proc. */
export function descendants(pid: number): ProcessInfo[] {
  const all = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProcess(Number(name)) ?? []);
  const found: ProcessInfo[] = [];
  for (let parents = [pid]; parents.length > 0; ) {
    const children = all.filter(({ parent }) => parents.includes(parent));
    found.push(...children);
    parents = children.map((child) => child.pid);
  }
  return found;
}

export function readProcess(pid: number): ProcessInfo | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // "proc_pid_stat(5)": the name may hold spaces and brackets. After its closing bracket come plain fields.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    return { pid, parent: Number(fields[1]), command, startTime: Number(fields[19]) };
  } catch {
    return undefined;
  }
}

/** Sends a signal to a process. Answers false if the process has ended, even if another one has its id now. */
export function signal({ pid, startTime }: ProcessInfo, name: NodeJS.Signals): boolean {
  if (readProcess(pid)?.startTime !== startTime) return false;
  process.kill(pid, name);
  return true;
}
