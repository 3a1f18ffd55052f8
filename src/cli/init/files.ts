/** The texts of the files that `minutehand init` writes. */

/** How the new code is written: the ending of its files, and what runs its tests. */
export type Kind = { readonly ending: "ts" | "mts"; readonly runner: "node" | "vitest" };

export const JOBS = "jobs";

export function appFile(topics: readonly string[], stack: string, kind: Kind): string {
  return `import { App, Stack } from "aws-cdk-lib";
import { DelayQueue } from "minutehand/cdk";
import type { Topics } from "./${JOBS}/topics.${kind.ending}";

const stack = new Stack(new App(), "${stack}");
${queueLines(topics, "stack", kind, "<Topics>").join("\n")}
`;
}

/** The lines that make a queue with these topics. `scope`: the name of the variable with the queue's scope. */
export function queueLines(topics: readonly string[], scope: string, { ending }: Kind, type = ""): string[] {
  const declared = topics.map((topic) => `"${topic}": {}`).join(", ");
  const head = `const queue = new DelayQueue${type}(${scope}, "Jobs", { topics: { ${declared} } });`;
  return [head, ...topics.map((topic) => handlerLine(topic, ending))];
}

export function handlerLine(topic: string, ending: Kind["ending"]): string {
  return `queue.addHandler("${topic}", "${JOBS}/${topic}.${ending}");`;
}

export function topicsFile(topics: readonly string[]): string {
  return `/** The type of the body of each topic's jobs. */
export type Topics = {
${topics.map((topic) => `  ${topicLine(topic)}\n`).join("")}};
`;
}

export function topicLine(topic: string): string {
  return `"${topic}": { id: string };`;
}

export function handlerFile(topic: string, { ending }: Kind): string {
  return `import { consumer } from "minutehand/consumer";
import type { Topics } from "./topics.${ending}";

/** Runs each job of the topic ${topic}. A job may run twice, so write the work so that a second run does no harm. */
export const handler = consumer<Topics, "${topic}">(async (job) => {
  console.log(\`${topic}: job \${job.body.id} runs\`);
});
`;
}

export function testFile(topic: string, { ending, runner }: Kind): string {
  const isVitest = runner === "vitest";
  const equal = (actual: string, expected: string): string =>
    isVitest ? `expect(${actual}).toBe(${expected})` : `assert.equal(${actual}, ${expected})`;
  const imports = isVitest
    ? ['import { createTestQueue } from "minutehand/testing";', 'import { expect, test } from "vitest";']
    : [
        'import assert from "node:assert/strict";',
        'import { test } from "node:test";',
        'import { createTestQueue } from "minutehand/testing";',
      ];
  return `${imports.join("\n")}
import { handler } from "./${topic}.${ending}";

test("a job of ${topic} runs when it is due, and not earlier", async () => {
  const queue = createTestQueue({ topics: { "${topic}": { handler } } });
  await queue.client.enqueue("${topic}", { id: "17" }, { delay: "30m" });
  await queue.advance("29m");
  ${equal("queue.runs().length", "0")};
  await queue.advance("1m");
  ${equal("queue.jobs()[0]?.state", '"done"')};
});
`;
}

/** The settings of TypeScript that fit Node's type stripping, which runs the app and its tests. */
export function tsconfigFile({ ending }: Kind): string {
  const compilerOptions = {
    ...{ target: "es2024", module: "nodenext", moduleDetection: "force", types: ["node"], noEmit: true },
    ...{ strict: true, verbatimModuleSyntax: true, erasableSyntaxOnly: true },
    ...{ allowImportingTsExtensions: true, skipLibCheck: true },
  };
  return json({ compilerOptions, include: [`**/*.${ending}`], exclude: ["node_modules", "cdk.out"] });
}

export function json(value: unknown, indent: string | number = 2): string {
  return `${JSON.stringify(value, undefined, indent)}\n`;
}
