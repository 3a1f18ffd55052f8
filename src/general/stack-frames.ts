import { fileURLToPath } from "node:url";

export type FrameFile = {
  /** A path or a `file:` URL. */
  readonly name: string;
  readonly at: number;
  readonly line: number;
  readonly column: number;
};

const PLACE = /:(\d+):(\d+)\)?$/;
const FILE = /(?<=\(|at |async )(?:file:\/\/|\/|[A-Za-z]:\\)/;

/**
 * `undefined` if the frame names no file. One regular expression for the whole frame would take quadratic time, and a function may log a line
 * of megabytes.
 */
export function fileOfFrame(frame: string): FrameFile | undefined {
  const [place, line, column] = PLACE.exec(frame) ?? [];
  if (place === undefined) return undefined;
  const head = frame.slice(0, frame.length - place.length);
  // The name of a file may have spaces, but no parentheses.
  const begin = Math.max(head.lastIndexOf("("), head.lastIndexOf(")"), 0);
  const found = FILE.exec(head.slice(begin));
  if (!found) return undefined;
  const at = begin + found.index;
  return { name: head.slice(at), at, line: Number(line), column: Number(column) };
}

/** A URL that is no path stays as it is. */
export function pathOfFrame({ name }: FrameFile): string {
  try {
    return name.startsWith("file:") ? fileURLToPath(name) : name;
  } catch {
    return name;
  }
}
