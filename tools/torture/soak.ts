import { readdirSync, readFileSync } from "node:fs";
import { median } from "../bench/statistics.ts";
import { descendants, readProcess } from "./process-tree.ts";
import { type Row, table } from "./report.ts";
import { roleOf } from "./roles.ts";

const SAMPLE_MS = 5_000;
/** The share of samples that is warm-up: code is compiled, caches fill, and the load becomes even. */
const WARM_UP = 0.4;
/** By how much the memory of a process may grow. Garbage that is collected late makes it swing by this much. */
const MEMORY_BOUND_MIB = 32;
const FILES_BOUND = 16;

/** The average memory and open files of the processes of one role. */
export type Sample = { readonly mib: number; readonly files: number };
export type Growth = {
  readonly role: string;
  readonly from: Sample;
  readonly to: Sample;
  readonly grows: boolean;
};
export type SoakResult = {
  readonly samples: number;
  readonly roles: readonly Growth[];
  readonly growing: readonly string[];
};

/** Samples the stack's processes until it is stopped. Then answers whether they grew after the warm-up. */
export function watchProcesses(
  stackPid: () => number | undefined,
  pullerPids: () => number[],
): { stop: () => SoakResult } {
  const samples: Map<string, Sample>[] = [];
  const timer = setInterval(() => {
    const pid = stackPid();
    if (pid !== undefined) samples.push(sampleAll(pid, pullerPids()));
  }, SAMPLE_MS);
  return {
    stop: () => {
      clearInterval(timer);
      return growthOf(samples);
    },
  };
}

/** Compares the medians of the first and the last third after the warm-up, by role. */
export function growthOf(samples: readonly ReadonlyMap<string, Sample>[]): SoakResult {
  const warm = samples.slice(Math.floor(samples.length * WARM_UP));
  const third = Math.ceil(warm.length / 3);
  const roles = new Set(warm.flatMap((sample) => [...sample.keys()]));
  const grown = [...roles].map((role): Growth => {
    const from = medianOf(warm.slice(0, third), role);
    const to = medianOf(warm.slice(-third), role);
    return {
      role,
      from,
      to,
      grows: to.mib - from.mib > MEMORY_BOUND_MIB || to.files - from.files > FILES_BOUND,
    };
  });
  return {
    samples: samples.length,
    roles: grown,
    growing: grown.filter(({ grows }) => grows).map(({ role }) => role),
  };
}

export function soakRows({ samples, roles }: SoakResult): string {
  const rows = roles.map(({ role, from, to, grows }): Row => {
    const memory = `${from.mib.toFixed(0)} → ${to.mib.toFixed(0)} MiB`;
    return [
      role,
      `${memory}, ${from.files.toFixed(0)} → ${to.files.toFixed(0)} files${grows ? ", GROWS" : ""}`,
    ];
  });
  const bound = `${samples} samples; bounds: ${MEMORY_BOUND_MIB} MiB, ${FILES_BOUND} files`;
  return `${table("processes, after warm-up → at the end", rows)}\n${bound}`;
}

function medianOf(samples: readonly ReadonlyMap<string, Sample>[], role: string): Sample {
  const ofRole = samples.flatMap((sample) => sample.get(role) ?? []);
  return { mib: median(ofRole.map(({ mib }) => mib)), files: median(ofRole.map(({ files }) => files)) };
}

function sampleAll(stackPid: number, pullers: readonly number[]): Map<string, Sample> {
  const byRole = new Map<string, Sample[]>();
  const add = (role: string, pid: number) => {
    const sample = sampleOf(pid);
    if (sample) byRole.set(role, [...(byRole.get(role) ?? []), sample]);
  };
  add("runner", stackPid);
  for (const pid of pullers) add("pullers", pid);
  for (const process of descendants(stackPid)) {
    const role = roleOf(process);
    if (role) add(role, process.pid);
  }
  return new Map([...byRole].map(([role, samples]) => [role, meanOf(samples)]));
}

function sampleOf(pid: number): Sample | undefined {
  try {
    const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    return { mib: Number(resident?.[1]) / 1024, files: readdirSync(`/proc/${pid}/fd`).length };
  } catch (error) {
    if (readProcess(pid)) throw error;
    return undefined;
  }
}

function meanOf(samples: readonly Sample[]): Sample {
  const sum = (of: (sample: Sample) => number) => samples.reduce((total, sample) => total + of(sample), 0);
  return { mib: sum(({ mib }) => mib) / samples.length, files: sum(({ files }) => files) / samples.length };
}
