import { computed, effect, signal } from "@preact/signals";
import { zoneNames } from "../../src/general/zone-names.ts";
import { ahead, clock, wrong } from "./clock.ts";
import type { Act } from "./commands.ts";
import type { Zone } from "./times.ts";

/** What all views share. A component that reads `.value` is drawn again when the value changes. */

/** The present time to the second, ms since the epoch. */
export const now = signal(clock());
setInterval(() => {
  now.value = clock();
}, 1000);
// A moved clock is shown at once.
for (const moved of [ahead, wrong])
  moved.subscribe(() => {
    now.value = clock();
  });

const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
/** The zone of this machine. */
export const LOCAL_ZONE: Zone = zoneNames().has(timeZone) ? timeZone : "UTC";

const chosenZone = localStorage.getItem("minutehand-zone") ?? "";
export const zone = signal<Zone>(zoneNames().has(chosenZone) ? chosenZone : LOCAL_ZONE);
// A machine that travels shows its new zone, unless another one was chosen.
effect(() => localStorage.setItem("minutehand-zone", zone.value === LOCAL_ZONE ? "" : zone.value));

export const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

/** The colours of the page. `auto`: those of the system. */
export const theme = signal<Theme>(
  THEMES.find((name) => name === localStorage.getItem("minutehand-theme")) ?? "auto",
);
const system = matchMedia("(prefers-color-scheme: dark)");
const isSystemDark = signal(system.matches);
system.addEventListener("change", ({ matches }) => {
  isSystemDark.value = matches;
});
/** Whether the page is dark now. Charts are drawn again when this changes. */
export const isDark = computed(() => (theme.value === "auto" ? isSystemDark.value : theme.value === "dark"));
effect(() => localStorage.setItem("minutehand-theme", theme.value));
effect(() => {
  document.documentElement.classList.toggle("dark", isDark.value);
  document.documentElement.style.colorScheme = isDark.value ? "dark" : "light";
});

/** Whether the window is narrower than `width` rem, now and after each change. */
function isBelow(width: number) {
  const query = matchMedia(`(width < ${width}rem)`);
  const found = signal(query.matches);
  query.addEventListener("change", ({ matches }) => {
    found.value = matches;
  });
  return found;
}

/** Whether filters would take half of the window. */
export const isNarrow = isBelow(48);
/** Whether the navigation stands at the lower edge of the window, and not at the left. As in `frame.css`. */
export const hasBottomBar = isBelow(56);
/** Whether a table with all numbers of a topic would be too wide. */
export const hasTopicCards = isBelow(86);

/** What the last action did, or why it failed. Shown until the user closes it, opens another view or begins another action. */
export type Notice = {
  readonly text: string;
  readonly href?: string;
  readonly link?: string;
  /** What undoes it. */
  readonly undo?: { readonly label: string; readonly act: Act };
  readonly isFailure?: boolean;
};
/** `path`: the view on which it is shown. */
type Said = Notice & { readonly at: number; readonly path: string };
/** What a dialog outside of the views asks about: a command of the palette, or the way back that a message offers. */
export const asked = signal<Act | undefined>(undefined);

export const notice = signal<Said | undefined>(undefined);

export function say(said: Notice): void {
  notice.value = { ...said, at: clock(), path: location.pathname };
}

export function forgetNotice(): void {
  notice.value = undefined;
}
