import { ONCE_AFTER, WRITER_DEADLINE } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import type { Home } from "../../core/home.ts";
import { ttl } from "../../core/item-keys.ts";
import { type BulkNote, type Chosen, ITEM_VERSION, type Key } from "../../core/items.ts";
import { type CallMark, knownCall } from "../../core/once.ts";
import { requireReadable } from "../../core/readable.ts";
import type { Context } from "../ports.ts";

/** Says whether an earlier try of this call has changed the job. @throws `idempotency-mismatch`: a different request has, with the same key */
export function isKnownCall({ id, calls }: Pick<Home, "id" | "calls">, call: CallMark): boolean {
  const known = knownCall(calls, call);
  if (known === "other") throw differentRequest({ id });
  // rule: repeated-call-changes-nothing
  return known;
}

export function differentRequest(data: Record<string, unknown>): MinutehandError {
  return new MinutehandError(
    "idempotency-mismatch",
    "an Idempotency-Key must be used with one request only, but this key was used with a different request",
    data,
  );
}

/** What a call with an `Idempotency-Key` notes for a day, so that a repeat of the call does the same. */
type CallNote = BulkNote | Chosen;

/** Answers the note that an earlier try of a call has written, or else writes one. @throws `idempotency-mismatch`; `unavailable` */
export async function noteOfCall<Note extends CallNote>(
  ctx: Context,
  key: Key,
  call: CallMark,
  make: () => Promise<Omit<Note, keyof Key | "v" | "request" | "expiresAt">>,
): Promise<Note> {
  const now = ctx.clock();
  const before = await readNote<Note>(ctx, key);
  // TTL deletes days late, so an old note may still be there. It is replaced.
  if (before && before.expiresAt * 1000 > now) return sameRequest(before, call);
  const note = { ...(await make()), request: call.request, expiresAt: ttl(now + ONCE_AFTER) };
  const item = { ...key, v: ITEM_VERSION, ...note } as Note;
  const by = now + WRITER_DEADLINE;
  if (before) {
    const change = { key, expect: { expiresAt: before.expiresAt }, set: note };
    if ((await ctx.pool.change(change, by)).changed) return item;
  } else {
    const [outcome] = await ctx.pool.insert([item], by);
    if (outcome instanceof Error) throw outcome;
    if (outcome === "inserted") return item;
  }
  const noted = await readNote<Note>(ctx, key);
  if (noted) return sameRequest(noted, call);
  throw new MinutehandError(
    "unavailable",
    "what an earlier try of this call noted was not found; repeat the call",
  );
}

async function readNote<Note extends CallNote>(ctx: Context, key: Key): Promise<Note | undefined> {
  const [read] = (await ctx.pool.read([key])) as [Note | undefined];
  return requireReadable(read, "what an earlier try of this call noted");
}

function sameRequest<Note extends CallNote>(note: Note, { request }: CallMark): Note {
  if (note.request === request) return note;
  throw differentRequest({});
}
