import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { plainEnvironment } from "../deploy/environment.ts";
import type { Session } from "../deploy/session.ts";
import { blocksOf, fileOf, readPage } from "../docs/blocks.ts";
import { said } from "./said.ts";

const UP_MS = 120_000;
const RUN_MS = 60_000;
const NAME = "the first job";
const PAGE = "docs/start.md";

/** What docs/start.md tells a user to do, on the package that is installed in `installed`: its job is seen to run. */
export async function playStart(session: Session, installed: string): Promise<void> {
  session.progress(NAME);
  const cwd = join(session.folder, "start");
  mkdirSync(cwd);
  symlinkSync(join(installed, "node_modules"), join(cwd, "node_modules"));
  writeFileSync(join(cwd, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const blocks = blocksOf(PAGE, readPage(PAGE));
  for (const block of blocks) {
    const file = fileOf(block);
    if (file !== undefined) writeFileSync(join(cwd, file), block.text);
  }

  const commands = blocks.filter(({ kind }) => kind === "sh").map(({ text }) => text);
  const local = commands.findIndex((text) => text.startsWith("npx minutehand local "));
  // The port of the page may be taken.
  const started = `${commands[local]?.replace(/ +#.*/, "").trim()} --port 0`;
  const env = { ...plainEnvironment(), npm_config_offline: "true" };
  const stack = session.serve({ name: NAME, command: "bash", args: ["-c", `exec ${started}`], cwd, env });
  const [url = ""] = await said(session, NAME, stack, /http:\/\/127\.0\.0\.1:\d+/, UP_MS);
  for (const [index, text] of commands.slice(local + 1).entries()) {
    const typed = `set -euo pipefail; curl() { command curl --silent --fail-with-body "$@"; }\n${text}`;
    const name = `${NAME} ${index}`;
    await session.run({
      name,
      command: "bash",
      args: ["-c", typed],
      cwd,
      env: { ...env, URL: url, MINUTEHAND_URL: url },
    });
  }
  await said(session, NAME, stack, /nobody paid order 17: close it/, RUN_MS);
  await stack.stop();
}
