import { type ShownJob, type ShownState, shownState } from "../shown-state.ts";
import { WORDS } from "../words.ts";
import {
  Ban,
  Check,
  CirclePause,
  CircleX,
  Clock,
  ClockAlert,
  Hourglass,
  Play,
  RotateCw,
  Send,
} from "./icon.tsx";

/** The icon of each state. Each state has an icon of its own, because not everybody sees colours. */
const ICONS = {
  scheduled: Clock,
  running: Play,
  done: Check,
  cancelled: Ban,
  dead: CircleX,
  expired: Hourglass,
  "handed-off": Send,
  held: CirclePause,
  late: ClockAlert,
  retrying: RotateCw,
} satisfies Readonly<Record<ShownState, unknown>>;

export function StateBadge({ job }: { job: ShownJob }) {
  const name = shownState(job);
  const Icon = ICONS[name];
  return (
    <span class={`badge ${name}`} title={WORDS[name]}>
      <Icon class="icon" size={12} aria-hidden="true" />
      {name}
    </span>
  );
}
