import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { bytesAtStart } from "../../tools/bench/read-at-start.ts";

it("counts the files that a start reads, without those of the first use", () => {
  const folder = mkdtempSync(join(tmpdir(), "minutehand-start-"));
  const texts = {
    "index.mjs": 'import "./shared.mjs"; export const later = () => import("./later.mjs");',
    "shared.mjs": "globalThis.shared = 1;",
    "later.mjs": 'import "./shared.mjs"; export const large = "and much more";',
  };
  try {
    for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text);
    expect(bytesAtStart(folder)).toBe(texts["index.mjs"].length + texts["shared.mjs"].length);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
