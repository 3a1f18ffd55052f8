import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { descendants, readProcess, signal } from "../../tools/torture/process-tree.ts";

describe("the process tree", () => {
  it("finds children and grandchildren, and kills a process only if its id is not reused by a later one", async () => {
    const parent = spawn("sh", ["-c", `"${process.execPath}" -e "setTimeout(() => {}, 61000)" & wait`]);
    const pid = parent.pid ?? -1;
    await expect
      .poll(() => descendants(pid).map(({ command }) => command))
      .toEqual([`${process.execPath} -e setTimeout(() => {}, 61000) `]);
    expect(descendants(process.pid).map((found) => found.pid)).toEqual(
      expect.arrayContaining([pid, descendants(pid)[0]?.pid]),
    );
    const [child] = descendants(pid);
    if (!child) throw new Error("the parent has no child");

    expect(signal({ ...child, startTime: child.startTime - 1 }, "SIGKILL")).toBe(false);
    expect(readProcess(child.pid)).toEqual(child);
    const ended = once(parent, "exit");
    expect(signal(child, "SIGKILL")).toBe(true);
    await ended;
    expect(signal(child, "SIGKILL")).toBe(false);
    expect(readProcess(child.pid)).toBeUndefined();
  });
});
