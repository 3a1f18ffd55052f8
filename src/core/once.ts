import { KNOWN_CALLS } from "./constants.ts";

/** What a home knows of a once item of its job. `expiresAt`: seconds since the epoch. */
export type OnceNote = { readonly token: string; readonly expiresAt: number };

/** Answers the once items that a home names, oldest first. */
export function onceNotesOf(text: string | undefined): OnceNote[] {
  return linesOf(text).map((line) => {
    const space = line.indexOf(" ");
    return { expiresAt: Number(line.slice(0, space)), token: line.slice(space + 1) };
  });
}

/** A home keeps only the last `KNOWN_CALLS` once items: each write of a home is billed by its size. */
export function onceText(notes: readonly OnceNote[]): string {
  return notes
    .slice(-KNOWN_CALLS)
    .map(({ expiresAt, token }) => `${expiresAt} ${token}`)
    .join("\n");
}

/** The schedule that has filed a job, and the time of its occurrence in ISO 8601. A call of `/run` has no such time. */
export type OfSchedule = { readonly schedule?: string; readonly scheduledFor?: string };

/** Answers the schedule that has filed a job, as its once items name it. Empty if no schedule has. */
export function scheduleIn(once: string): OfSchedule {
  // Callers' keys are printable ASCII, so most jobs leave here.
  if (!once.includes("§")) return {};
  for (const { token } of onceNotesOf(once)) {
    // The token of an event has three parts: see `applyRule`.
    const [, run, schedule, rest] = /^§(run )?([^§ ]+)§([^§]+)$/.exec(token) ?? [];
    if (schedule !== undefined && rest !== undefined)
      return run === undefined ? { schedule, scheduledFor: rest } : { schedule };
  }
  return {};
}

/**
 * Says whether a token names an event or an occurrence of a schedule (see `applyRule` and `occurrenceToken`). All other tokens contain an
 * `Idempotency-Key` of a caller, which is printable ASCII.
 */
export function isOfDelivery(token: string): boolean {
  return /^§(?!run )/.test(token);
}

/** A call with an `Idempotency-Key` that changes jobs: the hash of the key and the hash of the request, both without dots. */
export type CallMark = { readonly key: string; readonly request: string };

export function withCall(calls: string | undefined, { key, request }: CallMark): string {
  return withLine(calls, `${key}.${request}`);
}

/** Says whether a call has changed the home before. `other`: a different request with the same key has changed it. */
export function knownCall(calls: string | undefined, { key, request }: CallMark): boolean | "other" {
  const [, known] =
    linesOf(calls)
      .map((line) => line.split("."))
      .find(([name]) => name === key) ?? [];
  return known !== undefined && (known === request || "other");
}

/** Adds a line, and keeps the last `KNOWN_CALLS` lines. */
export function withLine(text: string | undefined, line: string): string {
  return [...linesOf(text), line].slice(-KNOWN_CALLS).join("\n");
}

export function linesOf(text: string | undefined): string[] {
  return text === undefined || text === "" ? [] : text.split("\n");
}
