import { exec, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { PATIENCE_MS } from "../patience.ts";
import { here } from "./here.ts";
import { freshDataDir, removeDataDir } from "./running-stack.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const { skip, title } = here("local-commands", "the README");

/** The README's command that starts the local stack. Other blocks of the pages are run by test/docs/. */
describe.skipIf(skip)(title, () => {
  it("npm run local prints a curl command that files a job, logs the end of the job, and Ctrl-C ends all processes", async () => {
    const dataDir = freshDataDir();
    // A process group of its own gets the SIGINT, as the foreground group of a terminal does after Ctrl-C.
    const child = spawn("npm", ["run", "local", "--", "--no-watch", "--port", "0", "--data", dataDir], {
      cwd: ROOT,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    child.stdout.on("data", (chunk) => (output += chunk));
    child.stderr.on("data", (chunk) => (output += chunk));
    const exited = new Promise((resolve) => child.once("exit", resolve));
    try {
      await until(
        () => /-d '.*'/.test(output),
        () => output,
      );
      const curl = /curl [\s\S]*?-d '[^']*'/.exec(output)?.[0] ?? "";
      const { stdout } = await promisify(exec)(curl);
      const { id, state } = JSON.parse(stdout);
      expect(state).toBe("scheduled");
      await until(
        () => new RegExp(`${id}.* done`).test(output),
        () => output,
      );
    } finally {
      process.kill(-(child.pid ?? 0), "SIGINT");
      await exited;
    }
    await until(
      () => processesNaming(dataDir).length === 0,
      () => processesNaming(dataDir).join("\n"),
    );
    removeDataDir(dataDir);
  });
});

async function until(holds: () => boolean, tell: () => string): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`the condition did not come to hold:\n${tell()}`);
    await sleep(50);
  }
}

/** The command lines of all processes that name this folder. The emulators get their data folder as an argument. */
function processesNaming(folder: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const command = readFileSync(`/proc/${name}/cmdline`, "utf8");
        return command.includes(folder) ? [command] : [];
      } catch {
        return [];
      }
    });
}
