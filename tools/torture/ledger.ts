import { appendFileSync, closeSync, fstatSync, openSync, readSync } from "node:fs";

/** What a producer may ask for. Only `create` and `replace` can create a new job. */
export type Change = "create" | "reschedule" | "replace" | "cancel";

/**
 * `n`: a planned job's number, which a replacement with another id keeps. Each change raises the `version` in the job's body. Times are ms
 * since the epoch, all by the clock of one machine.
 */
export type LedgerEvent =
  | Asked
  | Answered
  | Started
  | Ended
  | { event: "state"; n: number; id: string; state: string; at: number }
  /** An answer that the API does not document, or an end of the stack. */
  | { event: "unexpected"; n: number; what: string; at: number }
  | Fault;

/** Recorded before the first try of a request. */
export type Asked = {
  event: "asked";
  n: number;
  version: number;
  topic: string;
  change: Change;
  /** Absent for a cancel. */
  dueAt?: number;
  at: number;
};

/** `created`: there is a new job. `applied`: the existing job was changed. `refused`: the job runs, or has ended. Any number of tries. */
export type Answered = {
  event: "answered";
  n: number;
  version: number;
  outcome: "created" | "applied" | "refused";
  id: string;
  at: number;
};

export type Started = {
  event: "started";
  n: number;
  version: number;
  id: string;
  dueAt: number;
  attempt: number;
  pid: number;
  leaseUntil?: number;
  at: number;
};

/** Recorded by a handler after all else. `failed`: on purpose. */
export type Ended = {
  event: "ended";
  n: number;
  version: number;
  id: string;
  attempt: number;
  how: "done" | "failed";
  at: number;
};

/** A fault, recorded when it was injected into the stack. */
export type Fault = { event: "fault"; fault: string; pid?: number; ms?: number; at: number };

/** When this returns, a SIGKILL cannot undo it. Lines of several processes do not mix: each is one short append. */
export function record(file: string, event: LedgerEvent): void {
  appendFileSync(file, `${JSON.stringify(event)}\n`);
}

/** Makes a function that answers the events which were added to the ledger since its last call. */
export function followLedger(file: string): () => LedgerEvent[] {
  let position = 0;
  let rest = "";
  return () => {
    const fd = openSync(file, "a+");
    try {
      const bytes = Buffer.alloc(fstatSync(fd).size - position);
      readSync(fd, bytes, 0, bytes.length, position);
      position += bytes.length;
      const lines = (rest + bytes.toString()).split("\n");
      rest = lines.pop() ?? "";
      return lines.map((line) => JSON.parse(line) as LedgerEvent);
    } finally {
      closeSync(fd);
    }
  };
}
