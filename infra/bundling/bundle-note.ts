import { CfnFunction, type Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";

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
  /** The folder of code that nothing bundles, such as Python. Present: the runner runs the code there, and looks for its files itself. */
  readonly folder?: string;
};

/** Only if `minutehand local` runs the app. Absent `note`: the code lies in a package, or the app reads its files itself to bundle it. */
export function noteBundle(fn: LambdaFunction, note: BundleNote = { inputs: [] }): void {
  if (process.env[WANTED] !== undefined && fn.node.defaultChild instanceof CfnFunction)
    fn.node.defaultChild.addMetadata(KEY, note);
}
