import { errorText } from "../../local-error.ts";
import type { TableStore } from "./table-store.ts";

/** AWS deletes an expired item within days. Every reader must expect it to be there until then. */
const DELETE_EXPIRED_EVERY_MS = 60_000;

/** Now and each minute. A failure, such as a full disk, is logged once, and tried again in a minute. The result ends the deletions. */
export function keepDeletingExpired(
  store: Pick<TableStore, "deleteExpired">,
  now: () => number,
  log: (line: string) => void,
): () => void {
  let logged = "";
  const deleteExpired = () => {
    let failure = "";
    try {
      store.deleteExpired(now());
    } catch (error) {
      // An uncaught error in a timer would end the database, though it still answers reads.
      failure = errorText(error);
    }
    if (failure !== logged)
      log(failure ? `expired items are not deleted: ${failure}` : "expired items are deleted again");
    logged = failure;
  };
  deleteExpired();
  const timer = setInterval(deleteExpired, DELETE_EXPIRED_EVERY_MS);
  return () => clearInterval(timer);
}
