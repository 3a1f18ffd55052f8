import type { Figure } from "../figure.ts";
import { bytesAtStart } from "../read-at-start.ts";
import type { Rig } from "../rig.ts";
import { atMost, type Row } from "../table.ts";

const KIB = 1024;
const MOST_KIB = 1024;
const MOST_KIB_OF_API = 550;

/** Lambda bills the time in which a function's code is loaded. Code that is imported on first use is not counted. */
export const bundles: Figure = {
  name: "bundles",
  what: "the size of the code that each function's start reads",
  measure: async ({ stack }: Rig) =>
    stack.functions.map(({ logicalId, codeDir }): Row => {
      const kib = bytesAtStart(codeDir) / KIB;
      const name = logicalId.replace(/Function[0-9A-F]{8}$/, "");
      const most = name === "JobsApiHandler" ? MOST_KIB_OF_API : MOST_KIB;
      return {
        figure: `bundle: ${name}`,
        ours: `${Math.round(kib)} KiB`,
        aim: atMost(kib, most, `≤ ${most.toLocaleString("en")} KiB`),
      };
    }),
};
