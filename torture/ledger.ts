import { appendFileSync, closeSync, fstatSync, openSync, readSync } from "node:fs";

/** What a producer may ask for. Only `create` and `replace` can bring a new job about. */
export type Change = "create" | "reschedule" | "replace" | "cancel";

/**
 * One line of the ledger. `n` names what a producer wants done, whatever job ids that takes; `version` is raised by each
 * change of it and travels in the body. Times are ms since the epoch, all by one machine's clock.
 */
export type LedgerEvent =
  | Asked
  | Answered
  | Started
  | Ended
  | { event: "state"; n: number; id: string; state: string; at: number }
  /** An answer that no rule allows. */
  | { event: "unexpected"; n: number; what: string; at: number }
  | Fault;

/** Before a request's first try. */
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

/**
 * When a request has got its answer, after however many tries. `created`: there is a new job; `applied`: the job there
 * was is changed; `refused`: it runs, or has ended.
 */
export type Answered = {
  event: "answered";
  n: number;
  version: number;
  outcome: "created" | "applied" | "refused";
  id: string;
  at: number;
};

/** Before a handler does anything else. */
export type Started = {
  event: "started";
  n: number;
  version: number;
  id: string;
  /** As the handler was told. */
  dueAt: number;
  attempt: number;
  pid: number;
  /** Of a pulled job. */
  leaseUntil?: number;
  at: number;
};

/** The last a handler does. `failed`: on purpose. */
export type Ended = {
  event: "ended";
  n: number;
  version: number;
  id: string;
  attempt: number;
  how: "done" | "failed";
  at: number;
};

/** What was done to the system. */
export type Fault = { event: "fault"; fault: string; pid?: number; ms?: number; at: number };

/**
 * Adds a line to the ledger. When this returns the operating system has it, and no SIGKILL takes it back; lines of
 * several processes do not mix, as each is appended by one short write.
 */
export function record(file: string, event: LedgerEvent): void {
  appendFileSync(file, `${JSON.stringify(event)}\n`);
}

/** Reads what has come to the ledger since the last call. */
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
