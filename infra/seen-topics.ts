import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";

const DEFAULT_FILE = "minutehand.topics.json";

/** Topics by the path of the construct that declared them. */
type SeenTopics = Readonly<Record<string, readonly string[]>>;

/**
 * Notes `topics` in a file to commit and answers those that are noted there and no longer declared. Synth
 * knows nothing of what is deployed; a file in the repository is there in a clean checkout and in CI, where
 * the last `cdk.out` is not, needs no AWS, and shows a topic's end in review.
 */
export function removedTopics(
  path: string,
  topics: readonly string[],
  topicsFile = resolve(DEFAULT_FILE),
): string[] {
  const seen = readSeen(topicsFile);
  const before = seen[path] ?? [];
  const all = [...new Set([...before, ...topics])].sort();
  // Tests and the local stack build constructs too, of what nobody has deployed: only the CDK CLI sets this variable.
  if (all.length > before.length && process.env.CDK_CLI_VERSION !== undefined)
    writeFileSync(topicsFile, `${JSON.stringify({ ...seen, [path]: all }, null, 2)}\n`);
  return before.filter((topic) => !topics.includes(topic));
}

function readSeen(file: string): SeenTopics {
  if (!existsSync(file)) return {};
  const text = readFileSync(file, "utf8");
  try {
    return JSON.parse(text) as SeenTopics;
  } catch (cause) {
    const shown = JSON.stringify(text.slice(0, 40));
    throw new Error(`${file} must be JSON, begins with ${shown}; allowed: {"<path>": ["<topic>", …]}`, {
      cause,
    });
  }
}
