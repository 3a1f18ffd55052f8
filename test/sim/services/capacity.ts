export type Capacity = {
  /** Whether a read or a write of so many bytes in one partition is admitted. If it is, it uses up capacity. */
  admits(what: "read" | "write", partition: string, bytes: number): boolean;
};

/** Units a second ("Partitions and data distribution" and "On-demand capacity mode", DynamoDB Developer Guide). */
const PARTITION = { read: 3000, write: 1000 };
const TABLE = { read: 12_000, write: 4000 };
const BYTES_A_UNIT = { read: 4096, write: 1024 };

type Bucket = { tokens: number; filledAt: number };

/** Without DynamoDB's burst capacity, which is not guaranteed. A request may overdraw its buckets: else a large one would never pass. */
export function tokenBuckets(clock: () => number, scale: number): Capacity {
  const buckets = new Map<string, Bucket>();
  const bucketOf = (name: string, perSecond: number): Bucket => {
    const { tokens, filledAt } = buckets.get(name) ?? { tokens: perSecond, filledAt: clock() };
    const refilled = tokens + ((clock() - filledAt) * perSecond) / 1000;
    const bucket = { tokens: Math.min(refilled, perSecond), filledAt: clock() };
    buckets.set(name, bucket);
    return bucket;
  };
  return {
    admits(what, partition, bytes) {
      const own = bucketOf(`${what} ${partition}`, PARTITION[what] * scale);
      const all = bucketOf(what, TABLE[what] * scale);
      if (own.tokens <= 0 || all.tokens <= 0) return false;
      const units = Math.max(Math.ceil(bytes / BYTES_A_UNIT[what]), 1);
      own.tokens -= units;
      all.tokens -= units;
      return true;
    },
  };
}
