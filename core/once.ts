import { KNOWN_CALLS } from "./constants.ts";

/** A once item as the home of its job knows it. `expiresAt`: seconds since the epoch, as TTL counts. */
export type OnceNote = { readonly token: string; readonly expiresAt: number };

/** The once items that a home names, oldest first. */
export function onceNotesOf(text: string | undefined): OnceNote[] {
  return linesOf(text).map((line) => {
    const space = line.indexOf(" ");
    return { expiresAt: Number(line.slice(0, space)), token: line.slice(space + 1) };
  });
}

/** The text of a home for these once items: the last ones, as a home must stay small. */
export function onceText(notes: readonly OnceNote[]): string {
  return notes
    .slice(-KNOWN_CALLS)
    .map(({ expiresAt, token }) => `${expiresAt} ${token}`)
    .join("\n");
}

/** A call with an `Idempotency-Key` that changes jobs: hashes of the key and of the request, without dots. */
export type CallMark = { readonly key: string; readonly request: string };

/** The calls of a home with one more: the last ones. */
export function withCall(calls: string | undefined, { key, request }: CallMark): string {
  return [...linesOf(calls), `${key}.${request}`].slice(-KNOWN_CALLS).join("\n");
}

/** Whether a call has changed the home before; `other`: a different request with the same key has. */
export function knownCall(calls: string | undefined, { key, request }: CallMark): boolean | "other" {
  const [, known] =
    linesOf(calls)
      .map((line) => line.split("."))
      .find(([name]) => name === key) ?? [];
  return known !== undefined && (known === request || "other");
}

function linesOf(text: string | undefined): string[] {
  return text === undefined || text === "" ? [] : text.split("\n");
}
