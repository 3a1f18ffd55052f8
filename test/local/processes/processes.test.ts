import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import {
  DETACHED,
  emulatorVariables,
  isProcessRunning,
  killTree,
  machineVariables,
  treeKiller,
} from "../../../local/processes/processes.ts";

test("a tree of processes is ended by its group, and on Windows by a command", () => {
  for (const platform of ["linux", "darwin"] as const) expect(treeKiller(17, platform)).toBeUndefined();
  expect(treeKiller(17, "win32")).toEqual(["taskkill", "/pid", "17", "/t", "/f"]);
});

test("no process that a killed child has started outlives it", async () => {
  const script = `const { pid } = require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
    console.log(pid); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["-e", script], { ...DETACHED, stdio: ["ignore", "pipe", "ignore"] });
  const [output] = await once(child.stdout, "data");
  const inner = Number(String(output));
  expect(isProcessRunning(inner)).toBe(true);
  killTree(child.pid ?? 0);
  await once(child, "exit");
  await expect.poll(() => isProcessRunning(inner)).toBe(false);
  killTree(child.pid ?? 0);
});

test("a process that has ended does not run, and one of another user does", () => {
  expect(isProcessRunning(process.pid)).toBe(true);
  expect(isProcessRunning(1)).toBe(true);
  expect(isProcessRunning(2 ** 22 + 1)).toBe(false);
});

test("an emulator and the guard get those too, and the place of compiled code", () => {
  const env = { PATH: "/bin", HOME: "/home/ada", AWS_SECRET_ACCESS_KEY: "s", NODE_COMPILE_CACHE: "/c" };
  expect(emulatorVariables(env, "linux")).toEqual({
    PATH: "/bin",
    TMPDIR: "/tmp",
    NODE_COMPILE_CACHE: "/c",
  });
});

test("a function gets the machine's variables that its platform needs, and no others", () => {
  const posix = { PATH: "/bin", TMPDIR: "/var/tmp", HOME: "/home/ada", SECRET: "s" };
  expect(machineVariables(posix, "linux")).toEqual({ PATH: "/bin", TMPDIR: "/var/tmp" });
  expect(machineVariables({}, "darwin")).toEqual({ PATH: "", TMPDIR: "/tmp" });
  const windows = { PATH: "C:\\Windows", SystemRoot: "C:\\Windows", TEMP: "C:\\Temp", SECRET: "s" };
  expect(machineVariables(windows, "win32")).toEqual({
    PATH: "C:\\Windows",
    SystemRoot: "C:\\Windows",
    TEMP: "C:\\Temp",
  });
});
