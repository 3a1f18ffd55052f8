import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";

const DEFAULT_FILE = "minutehand.topics.json";

/** By the path of the construct that declared them. */
type SeenTopics = Readonly<Record<string, readonly string[]>>;

/**
 * Records `topics` in a file, and answers those that are recorded and no longer declared. Synth does not know which topics are deployed. A
 * committed file needs no call of AWS, exists in a clean checkout and in CI, unlike the last `cdk.out`, and shows in a review that a topic
 * is removed.
 */
export function removedTopics(
  path: string,
  topics: readonly string[],
  topicsFile = resolve(DEFAULT_FILE),
): string[] {
  const seen = readSeen(topicsFile);
  const before = seen[path] ?? [];
  const all = [...new Set([...before, ...topics])].sort();
  // Only the CDK CLI sets this variable. Tests and the local stack also build constructs, but nobody deploys these constructs.
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
    throw new Error(`${file} must be JSON like {"<path>": ["<topic>", …]}, but it begins with ${shown}`, {
      cause,
    });
  }
}
