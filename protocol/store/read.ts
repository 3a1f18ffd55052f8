import type { Home } from "../../core/items.ts";
import type { Unreadable } from "../../core/readable.ts";

/** What is known of an item after a read. `unknown`: the read failed, so the item may exist or not. */
export type Read<T> =
  | { readonly is: "found"; readonly value: T }
  | { readonly is: "nothing" }
  | { readonly is: "unknown"; readonly error: Error };

/** What is known of a job after a read of its home. `unreadable`: a newer version wrote the home, or it is malformed. */
export type HomeRead = Read<Home> | { readonly is: "unreadable"; readonly home: Unreadable };

export function readOf<T>(value: T | undefined): Read<T> {
  return value === undefined ? { is: "nothing" } : { is: "found", value };
}
