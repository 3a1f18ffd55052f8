import { execFile } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { followLedger, record } from "../../tools/torture/ledger.ts";

const PROGRAM = `
  const { record } = await import(process.argv[1]);
  for (let at = 0; at < 500; at++)
    record(process.argv[2], { event: "fault", fault: "x".repeat(200), pid: process.pid, at });
  process.kill(process.pid, "SIGKILL");
`;

describe("the ledger", () => {
  let folder: string;
  let file: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "minutehand-ledger-"));
    file = join(folder, "ledger.ndjson");
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("is empty at first, and answers each event once", () => {
    const follow = followLedger(file);
    expect(follow()).toEqual([]);
    record(file, { event: "fault", fault: "one", at: 1 });
    expect(follow()).toEqual([{ event: "fault", fault: "one", at: 1 }]);
    expect(follow()).toEqual([]);
  });

  it("waits for the rest of a line", () => {
    const follow = followLedger(file);
    appendFileSync(file, '{"event":"fault","fau');
    expect(follow()).toEqual([]);
    appendFileSync(file, 'lt":"two","at":2}\n');
    expect(follow()).toEqual([{ event: "fault", fault: "two", at: 2 }]);
  });

  it("keeps every line of several processes that are killed right after writing", async () => {
    const module = new URL("../../tools/torture/ledger.ts", import.meta.url).href;
    const write = () =>
      promisify(execFile)(process.execPath, ["--input-type=module", "-e", PROGRAM, module, file]);
    const killed = await Promise.allSettled([write(), write(), write()]);
    expect(killed.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    const events = followLedger(file)();
    expect(events).toHaveLength(1_500);
    const pids = Map.groupBy(events, (event) => "pid" in event && event.pid);
    expect([...pids.values()].map((ofOne) => ofOne.map(({ at }) => at))).toEqual(
      Array.from({ length: 3 }, () => Array.from({ length: 500 }, (_, at) => at)),
    );
  });
});
