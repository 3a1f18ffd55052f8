/** Ends every process of the runner when the runner is gone. After a SIGKILL its emulators would else keep running. */
import { killTree, signalProcess } from "./processes.ts";

/** Process ids. A negative id stands for a process group, as in kill(2). */
export type GuardMessage = { watch: number } | { forget: number };

const watched = new Set<number>();

process.on("message", (message: GuardMessage) => {
  if ("watch" in message) watched.add(message.watch);
  else watched.delete(message.forget);
});

process.on("disconnect", () => {
  for (const id of watched) {
    if (id < 0) killTree(-id);
    else signalProcess(id, "SIGKILL");
  }
  process.exit();
});
