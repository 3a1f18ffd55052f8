import type { Rig } from "./rig.ts";
import type { Row } from "./table.ts";

/** Something that is measured: some lines of the table. */
export type Figure = {
  readonly name: string;
  readonly what: string;
  /** It is measured when it is named, and not with all others. */
  readonly isSlow?: true;
  readonly measure: (rig: Rig) => Promise<Row[]>;
};
