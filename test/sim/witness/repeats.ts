import { DAY } from "../../../src/core/constants.ts";
import type { Home } from "../../../src/core/home.ts";
import type { Bench, Told } from "./bench.ts";
import type { Revision } from "./known-jobs.ts";

type IsOver = (id: string) => boolean;

/** Judges calls with an `Idempotency-Key`: repeats file each job once, and give each body once. */
export function repeatsOf(bench: Bench, isOver: IsOver) {
  const [named, filed] = [namesOf(bench, isOver), filingsOf(bench, isOver)];
  return {
    ...{ ...changesOf(bench), asked: filed.asked, created: filed.created, answered: named.answered },
    forget(id: string): void {
      named.forget(id);
      filed.forget(id);
    },
  };
}

function namesOf({ clock, skew, broken }: Bench, isOver: IsOver) {
  const named = new Map<string, string>();
  /** For each call that kept another job: from when on a repeat may file a job. */
  const keptUntil = new Map<string, number>();
  return {
    answered({ id, outcome, dueAt }: Told, request: string): void {
      const before = named.get(request) ?? id;
      const mayDiffer = isOver(before) || clock() >= (keptUntil.get(request) ?? Number.POSITIVE_INFINITY);
      if (before !== id && !mayDiffer) broken(id, `${request} is ${before} too`);
      if (outcome === "kept") keptUntil.set(request, Math.max(clock(), Date.parse(dueAt)) + DAY - skew);
      named.set(request, id);
    },
    forget(id: string): void {
      for (const [request, other] of named) if (other === id) named.delete(request);
    },
  };
}

function filingsOf({ broken }: Bench, isOver: IsOver) {
  const filed = new Map<string, Set<string>>();
  return {
    /** A caller makes or repeats a call with an `Idempotency-Key`, which files a job with each of these bodies. */
    asked(bodies: readonly unknown[]): void {
      for (const body of bodies) {
        const text = JSON.stringify(body);
        if (!filed.has(text)) filed.set(text, new Set());
      }
    },
    created({ id, body }: Home): void {
      const ids = filed.get(body);
      if (!ids) return;
      for (const other of ids) if (isOver(other)) ids.delete(other);
      if (ids.add(id).size > 1) broken(id, `one call filed ${[...ids].join(" and ")}: ${body}`);
    },
    forget(id: string): void {
      for (const ids of filed.values()) ids.delete(id);
    },
  };
}

function changesOf({ broken }: Bench) {
  /** Bodies that one call with a token gives to a job: a repeat of the call must not give the body again. */
  const given = new Set<string>();
  return {
    /** A call with a token will give a job this body. No other call has the same body. */
    gives: (body: unknown): void => void given.add(JSON.stringify(body)),
    changed(before: Home, { id, body }: Home, revisions: readonly Revision[]): void {
      const isBack = before.body !== body && revisions.some((revision) => revision?.body === body);
      if (isBack && given.has(body)) broken(id, `a repeated call gave it ${body} again`);
    },
  };
}
