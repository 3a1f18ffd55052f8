import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { commandOf } from "../../local/processes/processes.ts";
import { openSession, type Session } from "./session.ts";

function script(text: string): { name: string; command: string; args: string[] } {
  return { name: "the script", command: process.execPath, args: ["-e", text] };
}

describe("a session", () => {
  let session: Session;
  let close: () => Promise<void>;

  beforeEach(() => {
    ({ session, close } = openSession("session-test"));
  });
  afterEach(async () => {
    await close();
    rmSync(session.folder, { recursive: true, force: true });
  });

  it("fails if a program is not installed, and says what to do", async () => {
    const missing = { name: "python3", command: "python-of-nobody", args: [], advice: "Install it" };
    await expect(session.run(missing)).rejects.toThrow("there is no python-of-nobody. Install it");
  });

  it("fails if a program fails, and shows the line of its output that says why", async () => {
    const failing = script(
      `console.log("begun"); console.error("Error: no room\\n    at x"); process.exit(3)`,
    );
    await expect(session.run(failing)).rejects.toThrow("the script ended with 3: Error: no room");
  });

  it("keeps the output of a program that succeeds, in a log file", async () => {
    await session.run(script("console.log('well')"));
    expect(existsSync(join(session.folder, "the-script.log"))).toBe(true);
  });

  it("reports a server that ends by itself", async () => {
    await expect(session.serve(script("process.exit(0)")).ended).rejects.toThrow("the script ended with 0");
  });

  it("ends every process when it closes, and lets the process clean up first", async () => {
    const [up, tidied] = [join(session.folder, "up"), join(session.folder, "tidied")];
    const tidy = `process.on("SIGTERM", () => { ${touch(tidied)} process.exit(); });`;
    session.serve(script(`${tidy} ${touch(up)} setInterval(() => {}, 1000)`));
    while (!existsSync(up)) await sleep(20);
    await close();
    expect(existsSync(tidied)).toBe(true);
  });

  it("ends the child processes that a program leaves behind", async () => {
    const pidFile = join(session.folder, "pid");
    const child = `spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" })`;
    const parent = `const { pid } = child_process.${child}; fs.writeFileSync(${JSON.stringify(pidFile)}, String(pid));`;
    await session.run(script(`${parent} process.exit()`));
    const left = Number(readFileSync(pidFile, "utf8"));
    await expect.poll(() => commandOf(left)).toBe("");
  });
});

function touch(path: string): string {
  return `fs.writeFileSync(${JSON.stringify(path)}, "");`;
}
