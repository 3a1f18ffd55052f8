import { type ChildProcess, fork } from "node:child_process";
import type { GuardMessage } from "./guard-process.ts";
import { DETACHED, emulatorVariables } from "./processes.ts";
import { programPath } from "./program-path.ts";

export type Guard = {
  readonly watch: (child: ChildProcess) => void;
  /** Ends the child and its whole process group when this process ends. The child must lead the group. */
  readonly watchGroup: (child: ChildProcess) => void;
  readonly pid: () => number | undefined;
  readonly stop: () => void;
};

export function startGuard(): Guard {
  const watched = new Set<number>();
  let stopping = false;
  let guard = start();

  function start(): ChildProcess {
    const child = forkGuard();
    child.once("exit", () => {
      if (!stopping) guard = start();
    });
    for (const pid of watched) send(child, { watch: pid });
    return child;
  }

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

function forkGuard(): ChildProcess {
  // Detached, so that Ctrl-C or a signal to the runner's process group does not end the guard before the other processes.
  const child = fork(programPath("guard"), {
    ...DETACHED,
    env: emulatorVariables(process.env),
    execArgv: [],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  child.on("error", () => {});
  return child;
}

function send(child: ChildProcess, message: GuardMessage): void {
  // If the guard has just died, its successor gets the whole list of ids at its start.
  if (child.connected) child.send(message, () => {});
}
