import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LocalError } from "../../local/local-error.ts";
import type { Server, Session } from "../deploy/session.ts";
import { PATIENCE_MS } from "../patience.ts";

const POLL_MS = 20;

export function logOf({ folder }: Session, name: string): string {
  return join(folder, `${name.replaceAll(" ", "-")}.log`);
}

/** Waits until a server's log matches `pattern`, and answers the match. Throws if the server ends. */
export async function said(
  session: Session,
  name: string,
  server: Server,
  pattern: RegExp,
): Promise<RegExpExecArray> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const output = readFileSync(logOf(session, name), "utf8");
    const found = pattern.exec(output);
    if (found) return found;
    if (Date.now() > end) throw new LocalError(`${name} has not printed ${pattern}:\n${output}`);
    await Promise.race([sleep(POLL_MS), server.ended]);
  }
}
