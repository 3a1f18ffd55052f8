/** The texts of the files that `minutehand init` writes. */
import { importPath, type Project } from "./project.ts";

export function topicsImport(from: string, { jobs, module }: Project): string {
  return `import type { Topics } from "${importPath(from, `${jobs}/topics`, module)}";`;
}

export function appFile(topics: readonly string[], stack: string, path: string, project: Project): string {
  return `import { App, Stack } from "aws-cdk-lib";
import { DelayQueue } from "minutehand/cdk";
${topicsImport(path, project)}

const stack = new Stack(new App(), "${stack}");
${queueLines(topics, "stack", project).join("\n")}
`;
}

/** The lines that make a queue with these topics. `scope`: the name of the variable with the queue's scope. */
export function queueLines(topics: readonly string[], scope: string, project: Project): string[] {
  const declared = topics.map((topic) => `"${topic}": {}`).join(", ");
  const head = `const queue = new DelayQueue<Topics>(${scope}, "Jobs", { topics: { ${declared} } });`;
  return [head, ...topics.map((topic) => handlerLine(topic, project))];
}

export function handlerLine(topic: string, { jobs }: Project): string {
  return `queue.addHandler("${topic}", "${jobs}/${topic}.ts");`;
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

export function clientFile(path: string, topic: string, project: Project): string {
  return `import { createClient } from "minutehand/client";
${topicsImport(path, project)}

// \`minutehand local\` sets MINUTEHAND_URL for its functions. For a function on AWS, set MINUTEHAND_URL to the URL of the queue's API.
// Or use \`directClient\` there, which needs no API and no URL: \`queue.grantEnqueue(fn)\` in the app lets the function file jobs.
const { AWS_LAMBDA_FUNCTION_NAME, MINUTEHAND_URL } = process.env;
if (AWS_LAMBDA_FUNCTION_NAME && !MINUTEHAND_URL)
  throw new Error("this function needs MINUTEHAND_URL, the URL of the queue's API: set it, or use directClient");

/** Files and changes jobs: \`await queue.enqueue("${topic}", { id: "17" }, { delay: "30m" })\`. */
export const queue = createClient<Topics>({ url: MINUTEHAND_URL ?? "http://127.0.0.1:4500" });
`;
}

export function handlerFile(path: string, topic: string, project: Project): string {
  return `import { consumer } from "minutehand/consumer";
${topicsImport(path, project)}

/** Runs each job of the topic ${topic}. A job may run twice, so write the work so that a second run does no harm. */
export const handler = consumer<Topics, "${topic}">(async (job) => {
  console.log(\`${topic}: job \${job.body.id} runs\`);
});
`;
}

export function testFile(path: string, topic: string, project: Project): string {
  const { runner, jobs, module } = project;
  const equal = (actual: string, expected: string): string =>
    runner === "node" ? `assert.equal(${actual}, ${expected})` : `expect(${actual}).toBe(${expected})`;
  return `${testImports(project).join("\n")}
import { handler } from "${importPath(path, `${jobs}/${topic}`, module)}";
${topicsImport(path, project)}

test("a job of ${topic} runs when it is due, and not earlier", async () => {
  const queue = createTestQueue<Pick<Topics, "${topic}">>({ topics: { "${topic}": { handler } } });
  await queue.client.enqueue("${topic}", { id: "17" }, { delay: "30m" });
  await queue.advance("29m");
  ${equal("queue.runs().length", "0")};
  await queue.advance("1m");
  ${equal("queue.jobs()[0]?.state", '"done"')};
});
`;
}

function testImports({ runner, hasJestTypes }: Project): string[] {
  const kit = 'import { createTestQueue } from "minutehand/testing";';
  if (runner === "vitest") return [kit, 'import { expect, test } from "vitest";'];
  // Jest's names are global, and `@types/jest` says so to the compiler.
  if (runner === "jest") return hasJestTypes ? [kit] : ['import { expect, test } from "@jest/globals";', kit];
  return ['import * as assert from "node:assert/strict";', 'import { test } from "node:test";', kit];
}

/** The settings of TypeScript that fit what runs the code: in ES modules Node's type stripping, in CommonJS tsx or the test runner. */
export function tsconfigFile(project: Project): string {
  const stripping = {
    verbatimModuleSyntax: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
  };
  const compilerOptions = {
    ...{ target: "es2024", module: "nodenext", moduleDetection: "force", types: typesOf(project) },
    ...{ noEmit: true, strict: true, skipLibCheck: true },
    ...(project.module === "esm" ? stripping : { isolatedModules: true }),
  };
  return json({ compilerOptions, include: ["**/*.ts"], exclude: ["node_modules", "cdk.out"] });
}

/** The packages of `@types` whose global names the new code uses. */
export function typesOf({ runner, hasJestTypes }: Project): string[] {
  return runner === "jest" && hasJestTypes ? ["node", "jest"] : ["node"];
}

export function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
