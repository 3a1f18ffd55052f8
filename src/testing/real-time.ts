import { MessageChannel } from "node:worker_threads";

/**
 * Real time for the test kit. Fake timers replace `setTimeout`, `setImmediate` and others, in the global object and in `node:timers`, and may
 * have done so before this file is loaded. They replace neither messages between ports nor `Atomics`.
 */

/** Lets the event loop turn once. */
export async function turnEventLoop(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  await new Promise((resolve) => {
    port1.once("message", resolve);
    port2.postMessage("turn");
  });
  port1.close();
}

/** Whether `work` ends, or fails, within `patience` real ms. */
export async function endsWithin(patience: number, work: Promise<unknown>): Promise<boolean> {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const { value: late } = Atomics.waitAsync(cell, 0, 0, patience);
  // `waitAsync` does not keep the process alive, but a port that waits for messages does.
  const { port1 } = new MessageChannel();
  port1.on("message", () => {});
  const ended = work.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([ended, Promise.resolve(late).then(() => false)]);
  } finally {
    Atomics.notify(cell, 0);
    port1.close();
  }
}
