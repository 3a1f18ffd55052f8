import { statSync } from "node:fs";
import { basename, join } from "node:path";
import type { Figure } from "../figure.ts";
import type { Rig } from "../rig.ts";
import { atMost, type Row } from "../table.ts";

const KIB = 1024;

/** Each function's code is one file. Lambda bills the time in which it is loaded. */
export const bundles: Figure = {
  name: "bundles",
  what: "the size of each function's code",
  measure: async ({ stack }: Rig) =>
    stack.functions.map(({ logicalId, handler, codeDir }): Row => {
      const file = join(codeDir, `${basename(handler, ".handler")}.mjs`);
      const kib = statSync(file).size / KIB;
      return {
        figure: `bundle: ${logicalId.replace(/Function[0-9A-F]{8}$/, "")}`,
        ours: `${Math.round(kib)} KiB`,
        aim: atMost(kib, KIB, "≤ 1 MiB"),
      };
    }),
};
