import { join } from "node:path";
import { createAssemblyHolder } from "./assembly-cache.ts";
import type { Guard } from "./guard.ts";
import { hashFolder, type Sources } from "./sources.ts";
import { type Project, synthesise } from "./synth.ts";

/** An app that is synthesised at each change while its stack runs. */
export type Synthesis = {
  readonly sources: Sources;
  /** What the app is made of, as a hash. */
  readonly fingerprint: () => string;
  /** Answers the assembly's folder. */
  readonly run: (progress: (line: string) => void) => Promise<string>;
  /** These folders of assemblies are in use, and none that was before. */
  readonly hold: (codeDirs: readonly string[]) => void;
  /** Ends the app if it runs, and all use of its assemblies. */
  readonly stop: () => Promise<void>;
};

type Surroundings = {
  readonly root: string;
  readonly app: string | undefined;
  /** Paths in the root that the runner itself writes. */
  readonly excluded: ReadonlySet<string> | undefined;
  readonly guard: Guard;
  /** Ends the app. */
  readonly signal: AbortSignal | undefined;
  readonly log: (line: string) => void;
};

export function createSynthesis({ root, app, excluded, guard, signal, log }: Surroundings): Synthesis {
  const told = new Set<string>();
  const sources: Sources = {
    root,
    ...(excluded ? { excluded } : {}),
    onUnreadable: (path) => {
      if (!told.has(path)) log(`${path} may not be read, so it counts as no part of the app`);
      told.add(path);
    },
  };
  const project: Project = { sources, app, cacheDir: join(root, ".minutehand", "synthesised") };
  const holder = createAssemblyHolder(project.cacheDir, process.pid);
  const stopping = new AbortController();
  const ending = AbortSignal.any([stopping.signal, ...(signal ? [signal] : [])]);
  let running: Promise<string> | undefined;
  return {
    sources,
    fingerprint: () => hashFolder(sources),
    run: (progress) => {
      running = synthesise(project, { guard, signal: ending, progress });
      return running;
    },
    hold: holder.hold,
    stop: async () => {
      stopping.abort();
      await running?.catch(() => {});
      holder.release();
    },
  };
}
