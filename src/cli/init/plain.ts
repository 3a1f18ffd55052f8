/** `minutehand init --template`: a queue for programs that pull, without the CDK and without code. */

import { CliError, UsageError } from "../cli-error.ts";
import { CONFIG } from "../commands/template.ts";
import { json } from "./files.ts";
import { withMember } from "./json-text.ts";
import { VERSIONS } from "./manifest.ts";
import { manifestIn, type Plan } from "./plan.ts";
import { type Folder, packagesOf } from "./project.ts";
import { withIgnored } from "./settings.ts";

export type PlainPlan = Pick<Plan, "write" | "change" | "kept" | "next">;

const SCHEMA = "./node_modules/minutehand/docs/reference/minutehand.schema.json";
const PACKAGES = ["aws-cdk-lib", "constructs", "fauxqs"];
/** What the steps of docs/guides/any-language.md write. */
const IGNORED = [".venv", "test.json", "deploy/functions"];
const EXAMPLES = "node_modules/minutehand/examples/python";

/**
 * Throws a `UsageError` in a folder that has another app, a `CliError` if minutehand.json has no object of topics, and a `SyntaxError` if
 * package.json is not a JSON object.
 */
export function planPlain(topics: readonly string[], folder: Folder): PlainPlan {
  const { read } = folder;
  if (read("cdk.json") !== undefined)
    throw new UsageError("--template is for a folder without an app of the CDK, and this one has cdk.json");
  const [topic = ""] = topics;
  const config = withTopics(read(CONFIG) ?? json({ $schema: SCHEMA, topics: {} }), topics);
  const files = {
    [CONFIG]: config,
    ".gitignore": withIgnored(read(".gitignore"), IGNORED),
  };
  const all = Object.entries(files);
  const present = packagesOf(folder, manifestIn(folder));
  const { addForDevelopment, exec } = folder.manager;
  const missing = PACKAGES.filter((name) => !(name in present));
  const install = missing.map((name) => `${name}@${VERSIONS[name]}`).join(" ");
  return {
    write: Object.fromEntries(all.filter(([path]) => read(path) === undefined)),
    change: Object.fromEntries(all.filter(([path, text]) => ![undefined, text].includes(read(path)))),
    kept: all.filter(([path, text]) => read(path) === text).map(([path]) => path),
    next: [
      ...(missing.length > 0 ? [`${addForDevelopment} ${install}`] : []),
      `${exec} minutehand local`,
      ...(topicsIn(config)?.[topic]?.consumer === "pull"
        ? pullCommands(topic, exec)
        : [`${exec} minutehand enqueue ${topic} --delay 5 --body '{"id": "17"}'`]),
    ],
  };
}

function pullCommands(topic: string, exec: string): string[] {
  return [
    `${exec} minutehand enqueue ${topic} --delay 5 --body '{"image": "cat.png", "width": 120}'    # what worker.py reads`,
    `curl http://127.0.0.1:4500/topics/${topic}/receive -d '{"waitSeconds": 20}'`,
    `cp ${EXAMPLES}/api.py ${EXAMPLES}/worker.py .    # a worker in Python: put your work into make_thumbnail`,
    `python3 worker.py ${topic}`,
  ];
}

/** Adds the topics that the file lacks. */
function withTopics(text: string, topics: readonly string[]): string {
  const declared = topicsIn(text);
  const missing = topics.filter((name) => !Object.hasOwn(declared ?? {}, name));
  const added = missing.reduce(
    (file, name) => withMember(file, ["topics"], name, { consumer: "pull" }),
    text,
  );
  if (missing.every((name) => Object.hasOwn(topicsIn(added) ?? {}, name))) return added;
  const lines = missing.map((name) => `"${name}": { "consumer": "pull" }`).join(", ");
  throw new CliError(`${CONFIG} must be a JSON object with "topics": { … }: add to its topics ${lines}`);
}

type Topics = Readonly<Record<string, { readonly consumer?: unknown } | null>>;

function topicsIn(text: string): Topics | undefined {
  try {
    return JSON.parse(text)?.topics;
  } catch {
    return undefined;
  }
}
