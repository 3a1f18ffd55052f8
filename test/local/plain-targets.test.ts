import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, vi } from "vitest";
import { OWN_PROGRAM } from "../../local/app/sources.ts";
import { type EmbeddedStack, startEmbeddedStack } from "../../local/embedded-stack.ts";
import { ROOT } from "../deploy/environment.ts";
import { PATIENCE_MS } from "../patience.ts";
import { pythonTest } from "../support/python.ts";

const arn = { parameter: "ReceiptArn" };
const CONFIG = {
  topics: { receipt: {} },
  targets: { receipt: { arn, timeout: "5s", localHandler: "functions/send_receipt.handler" } },
};
const root = mkdtempSync(join(tmpdir(), "minutehand-plain-targets-"));
const FUNCTION = join(root, "functions/send_receipt.py");
const lines: string[] = [];
let stack: EmbeddedStack;

beforeAll(async () => {
  mkdirSync(join(root, "functions"));
  copyFileSync(join(ROOT, "examples/python-target/send_receipt.py"), FUNCTION);
  writeFileSync(join(root, "minutehand.json"), JSON.stringify(CONFIG));
  stack = await startEmbeddedStack({
    ...{ port: 0, dataDir: join(root, "data"), memory: true, root, oneShard: true, watch: true },
    app: `node ${OWN_PROGRAM} template`,
    log: (line) => lines.push(line),
  });
});

afterAll(async () => {
  await stack.stop();
  rmSync(root, { recursive: true, force: true });
});

async function file(): Promise<string> {
  const job = { topic: "receipt", delay: 0, body: { orderId: "17", cents: 1250 } };
  const filed = await fetch(`${stack.url}/jobs`, { method: "POST", body: JSON.stringify(job) });
  return ((await filed.json()) as { id: string }).id;
}

const eventually = (look: () => Promise<void>) => vi.waitFor(look, { timeout: PATIENCE_MS, interval: 100 });

pythonTest("a target of minutehand.json runs its jobs from a Python file of this machine", async () => {
  expect(lines.join("\n")).not.toContain("does not run here");
  const id = await file();
  await eventually(async () => {
    const read = await fetch(`${stack.url}/jobs/${id}`);
    expect(await read.json()).toMatchObject({ state: "done", attempt: 1 });
    expect(lines.join("\n")).toContain("receiptTarget  receipt of order 17: 1250 cents, attempt 1");
  });
});

pythonTest(
  "a save of its file changes what the next job runs, as does one of a file that it imports",
  async () => {
    writeFileSync(join(root, "functions/words.py"), 'WORDS = "new words"\n');
    writeFileSync(FUNCTION, "from words import WORDS\n\n\ndef handler(job, context):\n    print(WORDS)\n");
    await eventually(async () => expect(lines.join("\n")).toContain("reloaded"));
    await file();
    await eventually(async () => expect(lines.join("\n")).toContain("new words"));
    const before = lines.length;
    writeFileSync(join(root, "functions/words.py"), 'WORDS = "newer words"\n');
    await eventually(async () => expect(lines.slice(before).join("\n")).toContain("reloaded"));
    await file();
    await eventually(async () => expect(lines.join("\n")).toContain("newer words"));
  },
);

pythonTest("a save of a function's file swaps this function only, without a synthesis", async () => {
  const before = lines.length;
  writeFileSync(join(root, "functions/later.py"), 'LATER = "a new file"\n');
  writeFileSync(
    FUNCTION,
    "from later import LATER\n\n\ndef handler(job, context):\n    raise OSError(LATER)\n",
  );
  await eventually(async () => expect(lines.slice(before).join("\n")).toContain("reloaded receiptTarget in"));
  expect(lines.slice(before).join("\n")).not.toContain("synthesising");
});

pythonTest("its traceback names the file from the project's folder", async () => {
  const before = lines.length;
  await file();
  await eventually(async () => {
    expect(lines.slice(before).join("\n")).toContain("OSError: a new file");
    expect(lines.slice(before).join("\n")).toContain('File "functions/send_receipt.py", line 5');
  });
});

pythonTest(
  "only the settings synthesise: no other Python file does, and no folder of a template",
  async () => {
    const before = lines.length;
    for (const folder of ["tests", "functions/tests", "deploy/functions/webhook"])
      mkdirSync(join(root, folder), { recursive: true });
    writeFileSync(join(root, "deploy/written.json"), "{}");
    writeFileSync(join(root, "deploy/functions/webhook/chunk.mjs"), "");
    for (const path of ["worker.py", "tests/test_clock.py", "functions/test_send.py", "functions/tests/x.py"])
      writeFileSync(join(root, path), "import no_such_module\n");
    // Its line comes after those of earlier saves.
    writeFileSync(join(root, "functions/later.py"), 'LATER = "a marker"\n');
    await eventually(async () =>
      expect(lines.slice(before).join("\n")).toContain("reloaded receiptTarget in"),
    );
    expect(lines.slice(before).join("\n")).not.toContain("synthesising");
    writeFileSync(join(root, "minutehand.json"), JSON.stringify({ ...CONFIG, stackName: "Other" }));
    await eventually(async () =>
      expect(lines.slice(before).join("\n")).toContain("saved minutehand.json: synthesising"),
    );
    expect(lines.slice(before).filter((line) => line.includes("reloaded"))).toHaveLength(1);
  },
);
