import type { Rig } from "./rig.ts";
import type { Row } from "./table.ts";

/** Something that is measured: some lines of the table. */
export type Figure = {
  readonly name: string;
  readonly what: string;
  readonly measure: (rig: Rig) => Promise<Row[]>;
};
