import { AssetCode, CfnFunction, type Code, type Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { isOfPackages } from "../general/package-files.ts";

/** `minutehand local` sets this variable when it runs the app. A template that is deployed has no notes, because they name local files. */
const WANTED = "MINUTEHAND_NOTE_BUNDLES";
/** The key of a note in the metadata of a function's resource. `local/bundle-note.ts` reads it. */
const KEY = "minutehand:bundle";

/** Tells `minutehand local` how the code of a function is bundled, so that a save needs no synthesis. */
export type BundleNote = {
  /**
   * The absolute paths of the files that were bundled. There are too many files of packages, so npm's list of installed packages
   * stands for them.
   */
  readonly inputs: readonly string[];
  /**
   * The options with which esbuild makes the bundle again. Absent: the code lies in a package and does not change. The type is not
   * esbuild's own, because an app that bundles nothing has no esbuild, and must compile too.
   */
  readonly build?: object;
};

/**
 * Adds a note to a function's resource if `minutehand local` runs the app. Without a `note`, only a function whose code lies in a
 * package gets one.
 */
export function noteBundle(fn: LambdaFunction, code: Code, note: BundleNote | undefined): void {
  if (process.env[WANTED] === undefined) return;
  const ofPackage = code instanceof AssetCode && isOfPackages(code.path);
  const given = note ?? (ofPackage ? { inputs: [] } : undefined);
  if (given !== undefined && fn.node.defaultChild instanceof CfnFunction)
    fn.node.defaultChild.addMetadata(KEY, given);
}
