import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Thrown } from "../core/thrown.ts";

/** A longer path keeps only its last folders, because the error of a job is short. */
const FILE_CHARS = 40;
const FRAME = /^\s+at (?:.*\(|async )?(file:\/\/\S.*|\/.*|[A-Za-z]:\\.*):(\d+):(\d+)\)?$/;
/** A frame beyond this column lies in a minified bundle without a source map, where a line says nothing. */
const LONGEST_LINE = 500;

/**
 * The place of the first frame that is neither of a package nor of Node, such as `close-order.ts:12`. If an error has no such frame, its
 * causes are searched. The path begins at the function's folder, or else at the working directory.
 */
export function ownPlaceOf(
  thrown: Thrown,
  root = process.env.LAMBDA_TASK_ROOT ?? process.cwd(),
): string | undefined {
  for (let one: Thrown | undefined = thrown; one !== undefined; one = one.cause) {
    for (const line of framesOf(one)) {
      const [, file, number, column] = FRAME.exec(line) ?? [];
      if (file === undefined || Number(column) > LONGEST_LINE || /[\\/]node_modules[\\/]/.test(file))
        continue;
      return `${shortened(relative(root, pathOf(file)).split(sep))}:${number}`;
    }
  }
  return undefined;
}

/** The frames of a stack, without the message above them, which may look like a frame. */
function framesOf({ stack = "", message }: Thrown): string[] {
  const found = stack.indexOf(message);
  return (found === -1 ? stack : stack.slice(found + message.length)).split("\n");
}

function pathOf(file: string): string {
  try {
    return file.startsWith("file:") ? fileURLToPath(file) : file;
  } catch {
    return file;
  }
}

function shortened(parts: string[]): string {
  const whole = parts.join("/");
  return whole.length <= FILE_CHARS || parts.length === 1 ? whole : shortened(parts.slice(1));
}
