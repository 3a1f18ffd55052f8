import { relative, sep } from "node:path";
import { ERROR_BYTES } from "../core/constants.ts";
import { messageOf, reasonOf } from "../core/errors.ts";
import { describeThrown, type Thrown, truncateError } from "../core/thrown.ts";
import { isOfPackages } from "../general/package-files.ts";
import { fileOfFrame, pathOfFrame } from "../general/stack-frames.ts";

/** The error of a job is short, so a longer path keeps only its last folders. */
const FILE_CHARS = 40;
/** Beyond it, a line lies in a minified bundle without a source map, and says nothing. */
const LONGEST_LINE = 500;

/**
 * Makes the text that a job keeps of an error that its handler has thrown: the message, the reason of the error's `cause`, and the place in the
 * user's code, such as `fetch failed: no route (close-order.ts:12)`.
 */
export function errorTextOf(error: unknown, described = describeThrown(error)): string {
  const [said, reason, place] = [messageOf(error), reasonOf(error), ownPlaceOf(described)];
  const text = said.includes(reason) ? said : `${said}: ${reason}`;
  return truncateError(place === undefined ? text : `${text} (${place})`, ERROR_BYTES);
}

/** The first frame of an error or its causes that is neither of a package nor of Node: `close-order.ts:12`. */
export function ownPlaceOf(
  thrown: Thrown,
  root = process.env.LAMBDA_TASK_ROOT ?? process.cwd(),
): string | undefined {
  for (let one: Thrown | undefined = thrown; one !== undefined; one = one.cause) {
    for (const line of framesOf(one)) {
      const file = /^\s+at /.test(line) ? fileOfFrame(line) : undefined;
      if (file === undefined || file.column > LONGEST_LINE || isOfPackages(file.name)) continue;
      return `${shortened(relative(root, pathOfFrame(file)).split(sep))}:${file.line}`;
    }
  }
  return undefined;
}

/** The frames of a stack, without the message above them, which may look like a frame. */
function framesOf({ stack = "", message }: Thrown): string[] {
  const found = stack.indexOf(message);
  return (found === -1 ? stack : stack.slice(found + message.length)).split("\n");
}

function shortened(parts: string[]): string {
  const whole = parts.join("/");
  return whole.length <= FILE_CHARS || parts.length === 1 ? whole : shortened(parts.slice(1));
}
