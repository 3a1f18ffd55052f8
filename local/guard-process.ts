/**
 * Runs as a process of its own beside the runner and outlives it by a moment: when the runner is gone, also
 * by SIGKILL, it ends every process the runner had started. Without it, the database would live on.
 */
import { signalProcess } from "./processes.ts";

/** Process ids; a negative one is a group's. */
export type GuardMessage = { watch: number } | { forget: number };

const watched = new Set<number>();

process.on("message", (message: GuardMessage) => {
  if ("watch" in message) watched.add(message.watch);
  else watched.delete(message.forget);
});

process.on("disconnect", () => {
  for (const pid of watched) signalProcess(pid, "SIGKILL");
  process.exit();
});
