import type { WantedTable } from "../aws/account.ts";
import type { TableChanges, TableSettings } from "../aws/table-settings.ts";
import type { Check } from "./checks.ts";

/** What `restore` cannot repair. `undefined`: nothing. */
export function tableFault({ hasKeys, replicas, ttlAttribute }: TableSettings): string | undefined {
  if (!hasKeys) return "its keys are not the strings pk and sk, so it is no job table";
  if (replicas.length > 0) {
    return (
      `it is a global table, with replicas in ${replicas.join(" and ")}: the functions of two regions would run the same job. Delete ` +
      'the replicas; "When a region fails" in docs/guides/day-two.md says what to do instead'
    );
  }
  if (ttlAttribute !== undefined && ttlAttribute !== "expiresAt")
    return `its TTL is on ${ttlAttribute}: turn that off, and after an hour turn it on for expiresAt`;
  return undefined;
}

/** What a table lacks, such as one that was restored from a backup. */
export function missingIn(table: TableSettings, want: WantedTable): TableChanges {
  const tags = Object.entries(want.tags).filter(([key, value]) => table.tags[key] !== value);
  return {
    ...(table.ttlAttribute === undefined && { ttl: true }),
    ...(!table.isRecoverable && { recovery: true }),
    ...(tags.length > 0 && { tags: Object.fromEntries(tags) }),
    ...(want.isProtected && !table.isProtected && { protection: true }),
  };
}

/** `""`: nothing is missing. */
export function wordsOfMissing({ ttl, recovery, tags = {}, protection }: TableChanges): string {
  const named = Object.entries(tags).map(([key, value]) => `the tag ${key}=${value}`);
  return [
    ...(ttl ? ["TTL on expiresAt"] : []),
    ...(recovery ? ["point-in-time recovery"] : []),
    ...named,
    ...(protection ? ["deletion protection"] : []),
  ].join(", ");
}

export function judgeTableSettings(
  table: string,
  found: TableSettings,
  want: WantedTable,
  stack: string,
): Check {
  const check = "table settings";
  const fault = tableFault(found);
  if (fault !== undefined) return { check, result: "failed", found: `the table ${table}: ${fault}` };
  const missing = wordsOfMissing(missingIn(found, want));
  if (missing === "") return { check, result: "ok", found: `the table ${table} lacks nothing` };
  const todo = `minutehand restore --stack ${stack}`;
  return { check, result: "warning", found: `the table ${table} lacks ${missing}`, todo };
}
