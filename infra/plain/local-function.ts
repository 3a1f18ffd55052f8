import { existsSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { IgnoreMode, type Stack } from "aws-cdk-lib";
import { Code, Function as LambdaFunction, Runtime } from "aws-cdk-lib/aws-lambda";
import type { Duration } from "../../src/general/times.ts";
import { cdkDurationOf } from "../app-duration.ts";
import { noteBundle } from "../bundling/bundle-note.ts";

/** The runner takes any version of Python and of Node for these. */
const RUNTIMES = [
  [".py", Runtime.PYTHON_3_13],
  [".mjs", Runtime.NODEJS_24_X],
  [".cjs", Runtime.NODEJS_24_X],
  [".js", Runtime.NODEJS_24_X],
] as const;
/** What a folder with code may contain beside it. Folders whose names begin with a dot have the data of the local stack. */
const NOT_CODE = [".*", "node_modules", "cdk.out", "venv", "__pycache__"];

type Options = { readonly handler: string; readonly folder: string; readonly timeout: Duration };

/** Declares the target of a topic from code of this machine, for `minutehand local`. Throws if `handler` names no file. */
export function localFunction(
  stack: Stack,
  topic: string,
  { handler, folder, timeout }: Options,
): LambdaFunction {
  const dot = handler.lastIndexOf(".");
  const path = resolve(folder, handler.slice(0, Math.max(dot, 0)));
  const endings = RUNTIMES.map(([ending]) => ending);
  // The name of a file alone looks like a function `py`.
  const isNameOfFile = endings.some((ending) => handler.endsWith(ending));
  const isFile = isNameOfFile && existsSync(resolve(folder, handler));
  const [, runtime] = RUNTIMES.find(([ending]) => dot > 0 && !isFile && existsSync(path + ending)) ?? [];
  if (runtime === undefined) {
    if (/\w\.\w+$/.test(handler) && !isNameOfFile) {
      const [first, ...others] = endings;
      throw new Error(
        `targets.${topic}.localHandler is ${JSON.stringify(handler)}, and there is no ${handler.slice(0, dot)}${first} (or ${others.join(", ")})`,
      );
    }
    const example = isFile
      ? `${handler.slice(0, dot)}.handler`
      : "functions/send.handler of functions/send.py";
    throw new Error(
      `targets.${topic}.localHandler must name a file and its function, such as ${example}, is ${JSON.stringify(handler)}`,
    );
  }
  // The log names the function by this id.
  const fn = new LambdaFunction(stack, `${topic}Target`, {
    runtime,
    handler: basename(path) + handler.slice(dot),
    code: Code.fromAsset(dirname(path), { exclude: NOT_CODE, ignoreMode: IgnoreMode.GIT }),
    timeout: cdkDurationOf(timeout),
  });
  noteBundle(fn, { inputs: [], folder: dirname(path) });
  return fn;
}
