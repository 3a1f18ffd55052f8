import { type ChildProcess, fork } from "node:child_process";
import type { GuardMessage } from "./guard-process.ts";
import { programPath } from "./program-path.ts";

/** Sees to it that no child outlives this process. */
export type Guard = {
  /** Ends the child with this process; the child is forgotten when it exits. */
  readonly watch: (child: ChildProcess) => void;
  /** The same of a child that leads a group, with all of the group. */
  readonly watchGroup: (child: ChildProcess) => void;
  readonly pid: () => number | undefined;
  readonly stop: () => void;
};

export function startGuard(): Guard {
  const watched = new Set<number>();
  let stopping = false;
  let guard = start();

  function start(): ChildProcess {
    // Detached, so that neither Ctrl-C nor a signal to the runner's group reaches it before its work is done.
    const child = fork(programPath("guard"), {
      detached: true,
      execArgv: [],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    child.once("exit", () => {
      if (!stopping) guard = start();
    });
    child.on("error", () => {});
    for (const pid of watched) send(child, { watch: pid });
    return child;
  }

  /** `id`: as kill(2) takes it. */
  function watchId(child: ChildProcess, id: number): void {
    watched.add(id);
    send(guard, { watch: id });
    child.once("exit", () => {
      watched.delete(id);
      send(guard, { forget: id });
    });
  }

  return {
    watch: (child) => {
      if (child.pid !== undefined) watchId(child, child.pid);
    },
    watchGroup: (child) => {
      if (child.pid !== undefined) watchId(child, -child.pid);
    },
    pid: () => guard.pid,
    stop: () => {
      stopping = true;
      if (guard.connected) guard.disconnect();
    },
  };
}

function send(child: ChildProcess, message: GuardMessage): void {
  // A guard that died between two calls is replaced, and told all over again.
  if (child.connected) child.send(message, () => {});
}
