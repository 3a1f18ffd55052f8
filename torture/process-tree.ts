import { readdirSync, readFileSync } from "node:fs";

/** A process of this machine. Its id alone could be another's by now; with its start time it cannot. */
export type ProcessInfo = {
  readonly pid: number;
  readonly parent: number;
  /** Its arguments, each followed by a space. */
  readonly command: string;
  /** Clock ticks since the machine started. */
  readonly startTime: number;
};

/** All processes below `pid`, children before theirs. Reads Linux's /proc. */
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

/** `undefined` when there is no such process, or none any more. */
export function readProcess(pid: number): ProcessInfo | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // "proc_pid_stat(5)": the name may hold spaces and brackets; what follows its last one does not.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    return { pid, parent: Number(fields[1]), command, startTime: Number(fields[19]) };
  } catch {
    return undefined;
  }
}

/** Sends a signal to this very process. Answers whether it was still there. */
export function signal({ pid, startTime }: ProcessInfo, name: NodeJS.Signals): boolean {
  if (readProcess(pid)?.startTime !== startTime) return false;
  process.kill(pid, name);
  return true;
}
