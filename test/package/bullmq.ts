import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { LocalError } from "../../local/local-error.ts";
import { plainEnvironment } from "../deploy/environment.ts";
import type { Session } from "../deploy/session.ts";
import { blocksOf, fileOf, readPage } from "../docs/blocks.ts";
import { versionOf } from "./version.ts";

const NAME = "the program for BullMQ";
const PAGE = "docs/guides/from-bullmq.md";
const TSC = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2023"];

/** The clients of Redis that the guide's move must take. */
const REDIS = `import type { Redis as Five } from "ioredis-5";
import type { Redis as Six } from "ioredis-6";
export const taken = (five: Five, six: Six): Redis[] => [five, six];
`;

/**
 * Compiles the program of the guide that is to be moved, with BullMQ's own types: so people can have such a program. Compiles the move's type
 * of Redis with the types of ioredis.
 */
export async function checkBullMq(session: Session): Promise<void> {
  session.progress(NAME);
  const cwd = join(session.folder, "bullmq");
  const found = blocksOf(PAGE, readPage(PAGE)).filter(({ kind }) => kind === "typescript");
  const files = found.map((block) => fileOf(block) ?? "");
  if (files.join() !== "before/orders.ts")
    throw new LocalError(`${PAGE} must show one program of BullMQ, has ${files}`);
  const texts = Object.fromEntries(found.map((block) => [fileOf(block) ?? "", block.text]));
  for (const [name, text] of Object.entries({ ...texts, "redis.ts": `${redisType()}\n${REDIS}` })) {
    const file = join(cwd, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  writeFileSync(join(cwd, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const run = (command: string, ...args: readonly string[]): Promise<void> =>
    session.run({ name: `${NAME}: ${command}`, command, args, cwd, env: plainEnvironment() });
  const redis = ["ioredis-5@npm:ioredis@5.11.1", "ioredis-6@npm:ioredis@6.0.0"];
  const packages = ["bullmq@6.7.0", ...redis, versionOf("typescript"), versionOf("@types/node")];
  await run("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", ...packages);
  await run("npx", "--no-install", "tsc", ...TSC, "--types", "node", ...files, "redis.ts");
}

function redisType(): string {
  const move = blocksOf(PAGE, readPage(PAGE)).find((block) => fileOf(block) === "move.ts");
  const [type] = /^type Redis = [\s\S]*?^};$/m.exec(move?.text ?? "") ?? [];
  if (type === undefined) throw new LocalError(`move.ts of ${PAGE} must have the type Redis`);
  return type;
}
