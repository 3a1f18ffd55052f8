import { changesOf } from "./changes.ts";
import { displayName } from "./display-name.ts";
import { errorCode, errorText, LocalError } from "./local-error.ts";
import type { FunctionSpec, QueueSpec, StackSpec } from "./resources.ts";

export type Reloading = {
  /** What the app is made of, as a hash. */
  readonly fingerprint: () => string;
  /** Of what runs. */
  readonly seen: string;
  readonly synthesise: () => Promise<StackSpec>;
  /** Creates those that are not there. Throws `LocalError` for one that is refused. */
  readonly createQueues: (queues: readonly QueueSpec[]) => Promise<void>;
  /** New invocations of the functions go to these. */
  readonly replace: (specs: readonly FunctionSpec[]) => void;
  readonly log: (line: string) => void;
};

/**
 * What is to be called when something was saved: it synthesises again, one time after the other, until nothing has changed
 * meanwhile. What an app writes itself is therefore no reason, unless it writes something else each time.
 */
export function createReloader(running: StackSpec, reloading: Reloading): () => Promise<void> {
  const { fingerprint, synthesise, log } = reloading;
  let { seen } = reloading;
  let functions = running.functions;
  let told = "";
  let failure = "";
  let busy = false;

  return async function saved(): Promise<void> {
    if (busy) return;
    busy = true;
    try {
      // Once, and not for each synth: the line itself may be what has changed a file of the folder.
      if (fingerprint() !== seen) log("saved: synthesising …");
      for (let now = fingerprint(); now !== seen; now = fingerprint()) {
        seen = now;
        await reload();
      }
    } catch (error) {
      log(`nothing is reloaded until the next save: ${errorText(error)}`);
    } finally {
      busy = false;
    }
  };

  async function reload(): Promise<void> {
    try {
      await takeUp(await synthesise());
      if (failure !== "") log("the app synthesises again");
      failure = "";
    } catch (error) {
      // The runner ends.
      if (errorCode(error) === "AbortError") return;
      const reason = reasonOf(error);
      // Told once: the log may be a file of the folder, whose every line is a save.
      if (reason !== failure) log(`${reason}; what ran before runs on`);
      failure = reason;
    }
  }

  async function takeUp(next: StackSpec): Promise<void> {
    const { functions: changed, others } = changesOf({ ...running, functions }, next);
    // Functions that know of a topic send there, whoever takes it up from there after a restart.
    const known = new Set(running.queues.map(({ name }) => name));
    await reloading.createQueues(next.queues.filter(({ name }) => !known.has(name)));
    reloading.replace(changed);
    functions = functions.map((spec) => changed.find(({ arn }) => arn === spec.arn) ?? spec);
    if (changed.length > 0) log(`reloaded ${changed.map((spec) => displayName(spec, next)).join(", ")}`);
    const restart = others.join(", ");
    if (restart !== told && restart !== "") log(`restart to take up ${restart}`);
    told = restart;
  }
}

/** An app in the middle of an edit fails in any way. */
function reasonOf(error: unknown): string {
  return error instanceof LocalError ? error.message : `reloading failed: ${errorText(error)}`;
}
