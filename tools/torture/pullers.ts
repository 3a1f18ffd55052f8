import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Topic } from "./load.ts";
import { LEDGER_VARIABLE } from "./run-job.ts";

const PROGRAM = fileURLToPath(new URL("puller.ts", import.meta.url));
const TOPIC_OF_EACH: readonly Topic[] = ["work", "work", "work", "work", "work", "events", "events"];

export type Pullers = { readonly pids: () => number[]; readonly stop: () => void };

/** Starts consumers of the pull topics, each in a process of its own. A process that ends is replaced. */
export function startPullers(url: string, ledger: string): Pullers {
  const children = new Set<ChildProcess>();
  let stopping = false;

  function start(topic: Topic): void {
    if (stopping) return;
    const child = fork(PROGRAM, [url, topic], {
      env: { ...process.env, [LEDGER_VARIABLE]: ledger },
      execArgv: [],
    });
    children.add(child);
    child.once("exit", () => {
      children.delete(child);
      setTimeout(() => start(topic), 500);
    });
  }

  for (const topic of TOPIC_OF_EACH) start(topic);
  return {
    pids: () => [...children].flatMap(({ pid }) => pid ?? []),
    stop: () => {
      stopping = true;
      for (const child of children) child.kill("SIGKILL");
    },
  };
}
