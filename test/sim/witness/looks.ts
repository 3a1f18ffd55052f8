import { DAY } from "../../../src/core/constants.ts";
import { isFinished } from "../../../src/core/home.ts";
import { sortable, timeOf } from "../../../src/core/item-keys.ts";
import { addressOf } from "../../../src/core/job-id.ts";
import type { Row } from "../services/expressions.ts";
import type { Bench } from "./bench.ts";
import { isOpen, type KnownJob, type KnownJobs } from "./known-jobs.ts";

/** ms that a look must stay after its time, because ticks may be missing for so long (docs/internals/crash-table.md). */
const OUTAGE = 89 * DAY;

/** Judges the invariant on which everything rests (docs/internals/overview.md): the audit never passes a job's last look. */
export function looksOf({ clock, skew, broken }: Bench, jobs: KnownJobs) {
  const looks = jobs.notes(() => new Set<string>());
  const audits = new Map<number, string>();

  const mustBeAhead = ({ home }: KnownJob): void => {
    if (!home || home.untracked || isFinished(home)) return;
    const position = audits.get(addressOf(home.id).shard) ?? "";
    const wanted = home.state === "scheduled" ? sortable(home.dueAt) : "";
    if (![home.sk, ...looks(home.id)].some((sk) => sk > position && sk >= wanted))
      broken(home.id, `the audit is at ${position}, past its last look: ${JSON.stringify(home)}`);
  };

  return {
    mustBeAhead,
    written(id: string, sk: string, after: Row | undefined): void {
      const known = looks(id);
      if (after && Number(after.expiresAt?.N) * 1000 < timeOf(sk) + OUTAGE)
        broken(id, `a look that an outage outlasts: ${JSON.stringify(after)}`);
      if (after) known.add(sk);
      else known.delete(sk);
    },
    audited(shard: number, position: string): void {
      audits.set(shard, position);
      for (const id of jobs.ids) {
        const job = jobs.of(id);
        if (isOpen(job) && addressOf(id).shard === shard) mustBeAhead(job);
      }
    },
    /** Whether the audit is so far behind that TTL may have deleted the job's once item (docs/internals/decisions/once-items.md). */
    isAuditOut(id: string): boolean {
      const audit = audits.get(addressOf(id).shard);
      return audit !== undefined && timeOf(audit) + 2 * DAY <= clock() + skew;
    },
  };
}
