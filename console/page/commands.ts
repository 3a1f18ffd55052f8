import type { JobJson } from "../../src/http/answers/jobs.ts";
import type { ScheduleSummary } from "../../src/http/answers/schedules.ts";
import type { CarriedAction } from "../carried.ts";
import { addresses } from "./parts/search.ts";
import type { Topic } from "./reads.ts";

/** A job after a change, and what it had before. */
export type PutBack = {
  readonly job: JobJson;
  readonly before: { readonly dueAt: string } | { readonly body: unknown };
};

/** What the frame can do, for the palette or for a message: open an address or a dialog, or something else. */
export type Act =
  | { readonly opens: string }
  | { readonly pauses: string }
  | { readonly resumes: string }
  | { readonly shiftsBack: CarriedAction }
  | { readonly putsBack: PutBack }
  | {
      readonly does: "zone" | "auto" | "light" | "dark" | "keys" | "refresh" | "minute" | "hour" | "next-job";
    };

export type Command = {
  readonly name: string;
  /** What kind of thing this is, such as `view`. Shown beside the name, and searched too. */
  readonly kind: string;
  readonly act: Act;
  /** Only shown for a text that matches. */
  readonly isMore?: true;
};

export type Known = {
  readonly views: readonly { readonly name: string; readonly href: string }[];
  readonly topics: readonly Topic[];
  readonly schedules: readonly Pick<ScheduleSummary, "name">[];
  /** Whether the page shows the local stack, whose clock can be moved. */
  readonly isLocal: boolean;
  /** Whether the console's server refuses all changes. */
  readonly isViewOnly: boolean;
};

/** All commands that there are without a text. */
export function commandsOf({ views, topics, schedules, isLocal, isViewOnly }: Known): Command[] {
  return [
    ...views.map(({ name, href }) => ({ name, kind: "view", act: { opens: href } })),
    ...topics.flatMap((topic) => topicCommands(topic, isViewOnly)),
    ...schedules.map(({ name }) => ({ name, kind: "schedule", act: { opens: addresses.schedule(name) } })),
    ...SETTINGS,
    ...(isLocal && !isViewOnly ? CLOCK : []),
  ];
}

const SETTINGS: readonly Command[] = [
  { name: "Times in UTC or in local time", kind: "setting", act: { does: "zone" } },
  { name: "Colours: those of the system", kind: "setting", act: { does: "auto" } },
  { name: "Colours: light", kind: "setting", act: { does: "light" } },
  { name: "Colours: dark", kind: "setting", act: { does: "dark" } },
  { name: "Show the keys", kind: "help", act: { does: "keys" } },
  { name: "Read everything again", kind: "action", act: { does: "refresh" } },
];

const CLOCK: readonly Command[] = [
  { name: "Move the clock 1 minute ahead", kind: "clock of the local stack", act: { does: "minute" } },
  { name: "Move the clock 1 hour ahead", kind: "clock of the local stack", act: { does: "hour" } },
  { name: "Move the clock to the next job", kind: "clock of the local stack", act: { does: "next-job" } },
];

function topicCommands({ topic, dead: { count }, pause, policy }: Topic, isViewOnly: boolean): Command[] {
  const kind = "topic";
  const dead = count === 0 ? "" : ` (${count.toLocaleString("en")})`;
  const more: Omit<Command, "kind">[] = [
    { name: `${topic}: jobs`, act: { opens: addresses.jobs({ topic }) } },
    { name: `${topic}: on the time axis`, act: { opens: addresses.time({ topic }) } },
  ];
  const isTracked = policy.tracking !== "none";
  if (isTracked) {
    more.push(
      { name: `${topic}: dead jobs${dead}`, act: { opens: addresses.dead({ topic }) } },
      { name: `${topic}: retrying jobs`, act: { opens: addresses.dead({ topic, of: "retrying" }) } },
    );
  }
  if (!isViewOnly)
    more.push({ name: `${topic}: enqueue a job`, act: { opens: addresses.enqueue({ topic }) } });
  if (!isViewOnly && isTracked) {
    const isPaused = pause?.state === "paused";
    more.push({
      name: `${topic}: ${isPaused ? "resume" : "pause"} …`,
      act: isPaused ? { resumes: topic } : { pauses: topic },
    });
  }
  return [
    { name: topic, kind, act: { opens: addresses.topic(topic) } },
    ...more.map((command) => ({ ...command, kind, isMore: true as const })),
  ];
}

/** So many are shown. The next ones need another word. */
const SHOWN = 40;

/**
 * The commands that have each word of a text, the best first. With a text, the searches for jobs come too: first if the text looks like a
 * key or an id, or if nothing else matches.
 */
export function commandsFor(text: string, all: readonly Command[]): Command[] {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const ranked = all
    .filter(({ isMore }) => words.length > 0 || !isMore)
    .map((command) => ({ command, rank: rankOf(command, words) }))
    .filter(({ rank }) => rank < NO_MATCH)
    .sort((a, b) => a.rank - b.rank)
    .map(({ command }) => command)
    .slice(0, SHOWN);
  if (words.length === 0) return ranked;
  const searches = searchesFor(text.trim());
  return /\d/.test(text) || ranked.length === 0 ? [...searches, ...ranked] : [...ranked, ...searches];
}

function searchesFor(text: string): Command[] {
  return [
    {
      name: `Search jobs for “${text}”`,
      kind: "opens it if it is an id or a key",
      act: { opens: addresses.jobs({ find: text }) },
    },
    {
      name: `Search all jobs with the words of “${text}”`,
      kind: "key, tag, group, error",
      act: { opens: addresses.jobs({ find: text, all: "yes" }) },
    },
  ];
}

const NO_MATCH = 99;

/** A lower rank is a better match: the name begins with the text, each word begins a word, or each word is somewhere. */
function rankOf({ name, kind }: Command, words: readonly string[]): number {
  const lower = name.toLowerCase();
  const parts = `${lower} ${kind}`.split(/[^\p{L}\p{N}]+/u);
  if (lower.startsWith(words.join(" "))) return 0;
  const ranks = words.map((word) =>
    parts.some((part) => part.startsWith(word)) || lower.includes(` ${word}`) || lower.startsWith(word)
      ? 1
      : word.length > 1 && lower.includes(word)
        ? 2
        : NO_MATCH,
  );
  return Math.max(...ranks, 0);
}
