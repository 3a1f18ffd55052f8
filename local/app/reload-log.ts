import { relative } from "node:path";
import { goneTopicText } from "../template/delay-queue.ts";
import { displayName } from "../template/display-name.ts";
import type { FunctionSpec, StackSpec } from "../template/resources.ts";

const MOST_PARTS = 5;

export type ReloadLog = ReturnType<typeof createReloadLog>;

/** The lines about reloads. A line that would repeat the last one of its kind is left out. `root`: paths are relative to it. */
export function createReloadLog(log: (line: string) => void, root: string, clock: () => number) {
  let loggedUnchanged = "";
  let loggedFailure = "";
  let loggedRestart = "";
  const since = (began: number) => `in ${((clock() - began) / 1000).toFixed(1)} s`;
  return {
    unchanged: (paths: readonly string[]) => {
      if (paths.length === 0) return;
      const line = `saved ${pathsOf(paths, root)}: nothing has changed`;
      if (line !== loggedUnchanged) log(line);
      loggedUnchanged = line;
    },
    reloaded: (specs: readonly FunctionSpec[], stack: StackSpec, began: number) => {
      log(`reloaded ${namesOf(specs, stack)} ${since(began)}`);
      loggedUnchanged = "";
    },
    synthesising: (paths: readonly string[]) => {
      log(`saved ${pathsOf(paths, root)}: synthesising …`);
      loggedUnchanged = "";
    },
    synthesised: (specs: readonly FunctionSpec[], stack: StackSpec, began: number) => {
      const unchanged =
        loggedRestart === "" ? "no function has changed" : "only a restart applies what has changed";
      const reloaded = specs.length === 0 ? unchanged : `reloaded ${namesOf(specs, stack)}`;
      log(`synthesised ${since(began)}: ${reloaded}`);
    },
    appFailure: (failure: string | undefined) => {
      if (failure !== undefined)
        log(withOldFunctions(failure === loggedFailure ? "the app fails as before" : failure));
      else if (loggedFailure !== "") log("the app synthesises again");
      loggedFailure = failure ?? "";
    },
    needRestart: (parts: readonly string[]) => {
      const restart = parts.join(", ");
      if (restart !== loggedRestart && restart !== "") for (const line of restartLines(parts)) log(line);
      loggedRestart = restart;
    },
  };
}

function restartLines(parts: readonly string[]): string[] {
  const gone = parts.flatMap((part) => /^topic (.*) \(gone\)$/.exec(part)?.[1] ?? []);
  return [`restart to apply ${shortened(parts)}`, ...gone.map((topic) => `warning: ${goneTopicText(topic)}`)];
}

/** A stack with another name has other names for all of its parts. */
function shortened(parts: readonly string[]): string {
  const more = parts.length - MOST_PARTS;
  const shown = parts.slice(0, MOST_PARTS).join(", ") + (more > 0 ? ` and ${more} more` : "");
  const losesTable = parts.some((part) => /^table .* \(gone\)$/.test(part));
  return losesTable ? `${shown}. Its new table has none of the jobs of the old table` : shown;
}

/** A failure of several lines gets this end in its first line. */
function withOldFunctions(failure: string): string {
  return failure.replace(/:?(?:\n|$)/, "; the old functions stay in use$&");
}

function namesOf(specs: readonly FunctionSpec[], stack: StackSpec): string {
  return specs.map((spec) => displayName(spec, stack)).join(", ");
}

/** `app.ts and 2 more` */
function pathsOf([first = "", ...others]: readonly string[], root: string): string {
  const name = relative(root, first);
  return others.length === 0 ? name : `${name} and ${others.length} more`;
}
