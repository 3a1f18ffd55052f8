import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { entryOf } from "../../../infra/bundling/build.ts";
import { bundle } from "../../../infra/bundling/bundle.ts";
import type { Figure } from "../figure.ts";
import { median } from "../statistics.ts";
import { inMs, type Row } from "../table.ts";

const PROCESSES = 20;
const ROOT = resolve(import.meta.dirname, "../../..");

/** A cold start reads the source map of a handler's bundle. */
export const sourceMaps: Figure = {
  name: "source-maps",
  what: "the start of a handler's process, with and without its source map",
  measure: async () => {
    const folder = mkdtempSync(join(tmpdir(), "minutehand-bench-"));
    try {
      const starts = [true, false].map((sourceMap) => prepare(join(folder, `${sourceMap}`), sourceMap));
      // The first start of each does not count: it reads the files from the disk.
      for (const start of starts) start();
      const times: number[][] = [[], []];
      for (let i = 0; i < PROCESSES; i++)
        for (const [which, start] of starts.entries()) times[which]?.push(start());
      const [mapped = 0, plain = 0] = times.map(median);
      return [
        {
          figure: "start of a handler's process, with its source map",
          ours: inMs(mapped),
          ceiling: inMs(plain),
          ratio: plain / mapped,
        } satisfies Row,
      ];
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};

function prepare(folder: string, sourceMap: boolean): () => number {
  const { file: name, code, map } = bundle(entryOf("reminders"), ROOT, { sourceMap });
  mkdirSync(folder);
  const file = join(folder, name);
  writeFileSync(file, code);
  if (map !== undefined) writeFileSync(`${file}.map`, map);
  return () => {
    const since = performance.now();
    const { status, stderr } = spawnSync(
      process.execPath,
      [...(sourceMap ? ["--enable-source-maps"] : []), file],
      { env: {}, encoding: "utf8" },
    );
    if (status !== 0) throw new Error(`the bundle did not load: ${stderr}`);
    return performance.now() - since;
  };
}
