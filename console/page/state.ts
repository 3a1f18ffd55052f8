import { effect, signal } from "@preact/signals";
import { ahead, clock } from "./clock.ts";
import type { Zone } from "./times.ts";

/** What all views share. A component that reads `.value` is drawn again when the value changes. */

/** The present time to the second, ms since the epoch. */
export const now = signal(clock());
setInterval(() => {
  now.value = clock();
}, 1000);
// A moved clock is shown at once.
ahead.subscribe(() => {
  now.value = clock();
});

export const zone = signal<Zone>(localStorage.getItem("minutehand-zone") === "UTC" ? "UTC" : "local");
effect(() => localStorage.setItem("minutehand-zone", zone.value));

export const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

/** The colours of the page. `auto`: those of the system. */
export const theme = signal<Theme>(
  THEMES.find((name) => name === localStorage.getItem("minutehand-theme")) ?? "auto",
);
effect(() => {
  localStorage.setItem("minutehand-theme", theme.value);
  document.documentElement.style.colorScheme = theme.value === "auto" ? "light dark" : theme.value;
});

const narrow = matchMedia("(width < 48rem)");
export const isNarrow = signal(narrow.matches);
narrow.addEventListener("change", ({ matches }) => {
  isNarrow.value = matches;
});

/** What the last action did, or why it failed. Shown until the user closes it, opens another view or begins another action. */
export type Notice = {
  readonly text: string;
  readonly href?: string;
  readonly link?: string;
  readonly isFailure?: boolean;
};
/** `path`: the view on which it is shown. */
type Said = Notice & { readonly at: number; readonly path: string };
export const notice = signal<Said | undefined>(undefined);

export function say(said: Notice): void {
  notice.value = { ...said, at: clock(), path: location.pathname };
}

export function forgetNotice(): void {
  notice.value = undefined;
}
