import { ASSUMED, AWS } from "./limits.ts";

type What = "read" | "write";

export type Partitions = {
  /** Whether a request for this many units is admitted now. An admitted request uses the units up. */
  admits(what: What, pk: string, units: number): boolean;
  /** Answers how long a write of this many units must wait for its turn: ms. Uses the units up. */
  queueWrite(pk: string, units: number): number;
};

type Partition = {
  readonly depth: number;
  /** The units that are left of one second, which a large request may overdraw. */
  readonly left: Record<What, number>;
  readonly filledAt: Record<What, number>;
  writtenUntil: number;
  hotSince: number | undefined;
  hotAt: number;
  halves?: readonly [Partition, Partition];
};

/** After how long without throttling a partition is not hot any more: ms. */
const COOL_AFTER = 30_000;

/** Keys lie evenly in `first` partitions. A hot one is split in two by its keys; a key whose entries are used in order is not split. */
export function tablePartitions(first: number, now: () => number): Partitions {
  const roots = Array.from({ length: first }, () => freshPartition(0, now()));
  const find = (pk: string): Partition => {
    const hash = hashOf(pk);
    let partition = roots[hash % first] as Partition;
    const rest = Math.floor(hash / first);
    while (partition.halves) partition = partition.halves[(rest >>> partition.depth) & 1] as Partition;
    return partition;
  };
  return {
    admits(what, pk, units) {
      const partition = find(pk);
      const refilled = ((now() - partition.filledAt[what]) * AWS.partition[what]) / 1000;
      partition.left[what] = Math.min(partition.left[what] + refilled, AWS.partition[what]);
      partition.filledAt[what] = now();
      const isAdmitted = partition.left[what] > 0;
      if (isAdmitted) partition.left[what] -= units;
      else heat(partition, now());
      return isAdmitted;
    },
    queueWrite(pk, units) {
      const partition = find(pk);
      const begins = Math.max(partition.writtenUntil, now());
      partition.writtenUntil = begins + (units * 1000) / AWS.partition.write;
      // A write that waits for a second would have been throttled.
      if (begins - now() >= 1000) heat(partition, now());
      return begins - now();
    },
  };
}

function freshPartition(depth: number, now: number): Partition {
  return {
    depth,
    left: { ...AWS.partition },
    filledAt: { read: now, write: now },
    writtenUntil: now,
    hotSince: undefined,
    hotAt: 0,
  };
}

/** Notes that a request was throttled. A partition that stays hot gets halves. */
function heat(partition: Partition, now: number): void {
  if (now - partition.hotAt > COOL_AFTER) partition.hotSince = now;
  partition.hotAt = now;
  if (now - (partition.hotSince ?? now) < ASSUMED.splitAfter) return;
  const { depth } = partition;
  partition.halves = [freshPartition(depth + 1, now), freshPartition(depth + 1, now)];
}

/** FNV-1a with a finish that mixes all bits: partition keys differ in their last characters only. */
function hashOf(text: string): number {
  let hash = 2_166_136_261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16_777_619);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
