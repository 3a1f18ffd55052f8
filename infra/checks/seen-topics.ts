import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";

/** The default of `topicsFile`. */
export const TOPICS_FILE = "minutehand.topics.json";

/** By the path of the construct that declared them. */
type SeenTopics = Readonly<Record<string, readonly string[]>>;

type Seen = {
  /** The topics that are recorded and no longer declared. */
  readonly removed: readonly string[];
  /** Why the file could not be written. */
  readonly fault?: string;
};

/**
 * Records `topics` in a file, and finds removed topics. Synth does not know which topics are deployed. A committed file needs no call of
 * AWS, exists in a clean checkout and in CI, unlike the last `cdk.out`, and shows in a review that a topic is removed.
 */
export function seenTopics(path: string, topics: readonly string[], topicsFile = resolve(TOPICS_FILE)): Seen {
  const seen = readSeen(topicsFile);
  const before = seen[path] ?? [];
  const all = [...new Set([...before, ...topics])].sort();
  // Only the CDK CLI sets this variable. Tests and the local stack also build constructs, but nobody deploys these constructs.
  const isNew = all.length > before.length && process.env.CDK_CLI_VERSION !== undefined;
  const fault = isNew ? writeFault(topicsFile, { ...seen, [path]: all }) : undefined;
  const removed = before.filter((topic) => !topics.includes(topic));
  return { removed, ...(fault !== undefined && { fault }) };
}

/** Writes the file. A folder may be read-only, as in CI, and synth can do without the file. */
function writeFault(file: string, seen: SeenTopics): string | undefined {
  try {
    writeFileSync(file, `${JSON.stringify(seen, null, 2)}\n`);
    return undefined;
  } catch (error) {
    return `${file} cannot be written (${(error as NodeJS.ErrnoException).code})`;
  }
}

function readSeen(file: string): SeenTopics {
  if (!existsSync(file)) return {};
  const text = readText(file);
  try {
    return JSON.parse(text) as SeenTopics;
  } catch (cause) {
    const shown = JSON.stringify(text.slice(0, 40));
    throw new Error(`${file} must be JSON like {"<path>": ["<topic>", …]}, but it begins with ${shown}`, {
      cause,
    });
  }
}

function readText(file: string): string {
  try {
    // Not by its path: `minutehand local` takes the files that the app reads by their paths as files of the app.
    const opened = openSync(file, "r");
    try {
      return readFileSync(opened, "utf8");
    } finally {
      closeSync(opened);
    }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new Error(`${file} must be a JSON file that synth can read, but reading it fails (${code})`, {
      cause,
    });
  }
}
