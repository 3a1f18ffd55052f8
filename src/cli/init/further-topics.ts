/** Adds topics to the files that `init` has written before. A file that has another shape by now is left to the user. */
import { declares } from "./declared-topics.ts";
import { handlerLine, topicLine } from "./files.ts";
import { lineEndOf } from "./json-text.ts";
import type { Folder, Project } from "./project.ts";

/** Comments, the type, and members that are indented, so that the last line alone ends the type. */
const TOPICS =
  /^(?:\/\*[\s\S]*?\*\/|\/\/.*\n|import .*\n|\s)*export type Topics = \{\r?\n(?:[ \t].*\n|\r?\n)*\};\s*$/;
const OPTIONS = String.raw`\{(?:[^{}]|\{[^{}]*\})*\}`;
const TOPIC = `"?[a-z0-9-]+"?: ${OPTIONS}`;
const PROP = String.raw`\w+: [^{},\n]+`;
/** The topics of a queue, in one line or as a formatter spreads them, beside props that have no braces. */
const QUEUE = new RegExp(
  String.raw`^(const queue = new DelayQueue<Topics>\(\w+, "\w+", \{\s+(?:${PROP},\s+)*topics: \{\s+)` +
    String.raw`(${TOPIC}(?:,\s+${TOPIC})*)(,?\s+\}(?:,\s+${PROP})*,?\s+\}\);)$`,
  "gm",
);
const HANDLERS = /^(?:queue\.addHandler\("[^"\n]+", "[^"\n]+"\);(?:\r?\n|$))+/gm;

/** Answers the text with the topics, or `undefined` if the file has another shape than that of `init`. */
export function withTopics(text: string, topics: readonly string[]): string | undefined {
  if (!TOPICS.test(text)) return undefined;
  const eol = lineEndOf(text);
  const lines = topics
    .filter((topic) => !declares(text, topic))
    .map((topic) => `  ${topicLine(topic)}${eol}`);
  const added = text.replace(/\};\s*$/, (end) => lines.join("") + end);
  return topics.every((topic) => declares(added, topic)) ? added : undefined;
}

/** Answers the app with the topics and their handlers, or `undefined` if the file has another shape than that of `init`. */
export function withHandlers(text: string, topics: readonly string[], project: Project): string | undefined {
  const queues = [...text.matchAll(QUEUE)];
  const [lines, ...others] = text.matchAll(HANDLERS);
  if (queues.length !== 1 || lines === undefined || others.length > 0) return undefined;
  const eol = lineEndOf(text);
  const handlers = topics
    .filter((topic) => !lines[0].includes(`addHandler("${topic}",`))
    .map((topic) => `${handlerLine(topic, project)}${eol}`);
  const before = lines[0].endsWith("\n") ? lines[0] : `${lines[0]}${eol}`;
  return text
    .replace(HANDLERS, () => (handlers.length === 0 ? lines[0] : before + handlers.join("")))
    .replace(QUEUE, (_, head: string, declared: string, end: string) => {
      const names = declared.matchAll(new RegExp(`([a-z0-9-]+)"?: ${OPTIONS}`, "g"));
      const known = [...names].map(([, name]) => name);
      const missing = topics.filter((topic) => !known.includes(topic));
      const [lead] = /\s+$/.exec(head) ?? [" "];
      return head + [declared, ...missing.map((topic) => `"${topic}": {}`)].join(`,${lead}`) + end;
    });
}

/** The one file of the project that makes a queue, if there is one alone. */
export function queueFileOf({ files, read }: Folder): string | undefined {
  const making = files.filter(
    (path) => /\.[cm]?ts$/.test(path) && /\bnew (\w+\.)?DelayQueue\b/.test(read(path) ?? ""),
  );
  return making.length === 1 ? making[0] : undefined;
}
