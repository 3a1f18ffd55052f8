/**
 * The guard: a separate process that ends every process of the runner when the runner is gone, even after a SIGKILL. Without
 * the guard the emulators of a killed runner would keep running.
 */
import { signalProcess } from "./processes.ts";

/** Process ids. A negative id stands for a process group, as in kill(2). */
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
