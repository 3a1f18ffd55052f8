import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { LocalError } from "../../local/local-error.ts";
import { plainEnvironment } from "../deploy/environment.ts";
import type { Session } from "../deploy/session.ts";
import { blocksOf, fileOf, readPage } from "../docs/blocks.ts";
import { versionOf } from "./version.ts";

const NAME = "the program for BullMQ";
const PAGE = "docs/guides/coming-from.md";
const TSC = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2023"];

/** Compiles the program of the guide that is to be moved, with BullMQ's own types: so it is a program that people can have. */
export async function checkBullMq(session: Session): Promise<void> {
  session.progress(NAME);
  const cwd = join(session.folder, "bullmq");
  const found = blocksOf(PAGE, readPage(PAGE)).filter(({ kind }) => kind === "typescript");
  const files = found.map((block) => fileOf(block) ?? "");
  if (files.join() !== "before/orders.ts")
    throw new LocalError(`${PAGE} must show one program, has ${files}`);
  for (const block of found) {
    const file = join(cwd, fileOf(block) ?? "");
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, block.text);
  }
  writeFileSync(join(cwd, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const run = (command: string, ...args: readonly string[]): Promise<void> =>
    session.run({ name: `${NAME}: ${command}`, command, args, cwd, env: plainEnvironment() });
  const packages = ["bullmq@6.7.0", versionOf("typescript"), versionOf("@types/node")];
  await run("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", ...packages);
  await run("npx", "--no-install", "tsc", ...TSC, "--types", "node", ...files);
}
