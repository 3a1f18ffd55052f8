import { readFileSync } from "node:fs";
import { join } from "node:path";
import { codeFiles } from "./app/sources.ts";

const SOURCE = /(?<!\.d)\.[cm]?tsx?$/;
const CONSUMED = /\bconsumer<\s*\{([^{}]+)\}/;
/** A value of each type that a field of an example can have. */
const VALUES: Readonly<Record<string, unknown>> = { string: "17", number: 17, boolean: true };

/** The body that the example workers and `minutehand init --template` have. A worker that pulls is in any language, so no type tells its bodies. */
const PULLED = { image: "cat.png", width: 120 };

type Topics = Readonly<Record<string, { readonly consumer?: string; readonly webhook?: unknown }>>;

/**
 * Makes a job to try. A job of a webhook topic may need a callback URL, so the job is of another topic: the first whose bodies are known. `undefined`:
 * all topics have a webhook.
 */
export function exampleJob(root: string, topics: Topics): object | undefined {
  const examples = Object.entries(topics).flatMap(([topic, { consumer, webhook }]) => {
    if (webhook !== undefined) return [];
    const body = exampleBody(root, topic);
    return [{ topic, body, instead: consumer === "pull" ? PULLED : { text: "hello" } }];
  });
  const example = examples.find(({ body }) => body !== undefined) ?? examples[0];
  return example && { topic: example.topic, delay: 5, body: example.body ?? example.instead };
}

/**
 * Reads the type that the app declares for the topic: `"order-timeout": { id: string }` in the type of the topics, or `consumer<{ id:
 * string }>` in the file of `addHandler`. Only flat types of texts, numbers and booleans: a guess would fail in the handler.
 */
export function exampleBody(root: string, topic: string): object | undefined {
  const sources = sourcesIn(root);
  const name = topic.replaceAll(/[^a-z0-9-]/g, "");
  const declared = new RegExp(`(?<![\\w-])["']?${name}["']?\\s*:\\s*\\{([^{}]+)\\}`, "g");
  const added = new RegExp(`addHandler\\(\\s*["']${name}["'],\\s*["'](?:\\./)?([^"']+)["']`);
  const handlers = sources.flatMap(({ text }) => added.exec(text)?.[1] ?? []);
  const types = sources.flatMap(({ path, text }) => {
    const own = handlers.some((handler) => path === join(root, handler)) ? CONSUMED.exec(text) : null;
    return [...text.matchAll(declared), ...(own ? [own] : [])].map(([, fields = ""]) => fields);
  });
  return types.map(bodyOf).find((body) => body !== undefined);
}

function sourcesIn(root: string): { path: string; text: string }[] {
  return codeFiles(root)
    .filter((path) => SOURCE.test(path))
    .map((path) => ({ path, text: textOf(path) }));
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** A value of a type such as ` orderId: string; amount?: number `; `undefined` if a field has another type. */
function bodyOf(fields: string): object | undefined {
  const members = fields.split(/[;,\n]/).filter((member) => member.trim() !== "");
  const body: Record<string, unknown> = {};
  for (const member of members) {
    const [, name, type = ""] = /^\s*(?:readonly\s+)?(\w+)\??\s*:\s*(\w+)\s*$/.exec(member) ?? [];
    if (name === undefined || !(type in VALUES)) return undefined;
    body[name] = VALUES[type];
  }
  return members.length === 0 ? undefined : body;
}
