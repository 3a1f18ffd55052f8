import { type DynamoDBClient, paginateScan } from "@aws-sdk/client-dynamodb";

/** The partition key of a minute: `2026-03-01T09:30#0`. */
const MINUTE = /^\d{4}-\d\d-\d\dT\d\d:\d\d#\d+$/;
/** The partition key of the notes about jobs that a pause or a limit holds. */
const PARKED = "paused#";

/** What the delay queues of a stack have to do, as their job pools say. Times are ms since the epoch. */
export type PoolEntries = {
  /** The times at which a tick looks at a job. */
  readonly looks: readonly number[];
  readonly jobs: readonly { readonly startsAt: number; readonly isWaiting: boolean }[];
  /** Whether jobs wait for a tick that releases them. */
  readonly hasParked: boolean;
};

/** Reads whole tables. A folder on a developer's machine has few jobs, and the API reads each minute of a range apart. */
export async function readPoolEntries(
  client: DynamoDBClient,
  tables: Iterable<string>,
): Promise<PoolEntries> {
  const looks: number[] = [];
  const jobs: { startsAt: number; isWaiting: boolean }[] = [];
  let hasParked = false;
  for (const TableName of tables) {
    for await (const { Items = [] } of paginateScan({ client }, { TableName })) {
      for (const { pk, sk, state, dueAt, heldUntil } of Items) {
        if (pk?.S?.startsWith(PARKED)) hasParked = true;
        if (!MINUTE.test(pk?.S ?? "")) continue;
        looks.push(Number(sk?.S?.slice(0, 13)));
        const startsAt = Math.max(Number(dueAt?.N), Number(heldUntil?.N ?? 0));
        if (state?.S !== undefined) jobs.push({ startsAt, isWaiting: state.S === "scheduled" });
      }
    }
  }
  return { looks, jobs, hasParked };
}
