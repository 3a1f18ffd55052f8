import { tinykeys } from "tinykeys";

/**
 * Calls the function of each key, or of each sequence of keys such as `g j`. Ignores keys that the user types into a field, and all
 * keys while a dialog is open. Answers a function that ends this.
 */
export function listenToKeys(acts: Readonly<Record<string, () => void>>): () => void {
  let stop = (): void => {};
  function start(): void {
    stop();
    const guarded = Object.entries(acts).map(([keys, act]) => [keys, guard(act)]);
    stop = tinykeys(window, Object.fromEntries(guarded));
  }
  function guard(act: () => void) {
    return (event: KeyboardEvent) => {
      if (document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      // tinykeys still waits for the ends of the other sequences that have begun. So after `g d` it would miss `g s`.
      start();
      act();
    };
  }
  start();
  return () => stop();
}
