import type { Rig } from "./rig.ts";
import type { Row } from "./table.ts";

export type Figure = {
  readonly name: string;
  readonly what: string;
  /** The figure runs only if `--only` names it, or with `--write`. */
  readonly isSlow?: true;
  readonly measure: (rig: Rig) => Promise<Row[]>;
};
