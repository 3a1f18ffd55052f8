import { AssetCode, CfnFunction, type Code, type Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { isOfPackages } from "../../src/general/package-files.ts";

/** `minutehand local` sets this variable when it runs the app. A template that is deployed has no notes, because they name local files. */
const WANTED = "MINUTEHAND_NOTE_BUNDLES";
/** The key of a note in the metadata of a function's resource. `local/app/bundle-note.ts` reads it. */
const KEY = "minutehand:bundle";

/** Lets `minutehand local` bundle the code of a function without a synthesis. */
export type BundleNote = {
  /** The absolute paths of the bundled files. npm's list of installed packages stands for the many files of packages. */
  readonly inputs: readonly string[];
  /**
   * esbuild's options. Absent: the code lies in a package. Not esbuild's type: an app that bundles nothing must compile without esbuild.
   */
  readonly build?: object;
};

/** Only if `minutehand local` runs the app. Without a `note`, only a function whose code lies in a package gets one. */
export function noteBundle(fn: LambdaFunction, code: Code, note: BundleNote | undefined): void {
  if (process.env[WANTED] === undefined) return;
  const ofPackage = code instanceof AssetCode && isOfPackages(code.path);
  const given = note ?? (ofPackage ? { inputs: [] } : undefined);
  if (given !== undefined && fn.node.defaultChild instanceof CfnFunction)
    fn.node.defaultChild.addMetadata(KEY, given);
}
