import { tinykeys } from "tinykeys";

/** Or of each sequence such as `g j`. Ignores keys typed into a field, and all keys while a dialog is open. The result ends this. */
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

/** Also keys typed into a field, but none while a dialog is open. */
export function listenEverywhere(keys: string, act: () => void): () => void {
  const handler = (event: KeyboardEvent) => {
    if (document.querySelector("dialog[open]") !== null) return;
    event.preventDefault();
    act();
  };
  return tinykeys(window, { [keys]: handler }, { ignore: () => false });
}
