import { fileURLToPath } from "node:url";

/** The file of a frame of a stack. */
export type FrameFile = {
  /** The file as the frame names it: a path or a `file:` URL. */
  readonly name: string;
  /** The index of `name` in the frame. */
  readonly at: number;
  readonly line: number;
  readonly column: number;
};

/** The line and column at the end of a frame. */
const PLACE = /:(\d+):(\d+)\)?$/;
/** The first characters of a frame's file. */
const FILE = /(?<=\(|at |async )(?:file:\/\/|\/|[A-Za-z]:\\)/;

/**
 * Finds the file of a frame, in front of its line and column. `undefined` if the frame names no file. One regular expression for the whole
 * frame would take time that grows with the square of the line's length, and a function may log a line of megabytes.
 */
export function fileOfFrame(frame: string): FrameFile | undefined {
  const [place, line, column] = PLACE.exec(frame) ?? [];
  if (place === undefined) return undefined;
  const head = frame.slice(0, frame.length - place.length);
  // The name of a file may have spaces, but no parentheses. So the file begins after the last parenthesis.
  const begin = Math.max(head.lastIndexOf("("), head.lastIndexOf(")"), 0);
  const found = FILE.exec(head.slice(begin));
  if (!found) return undefined;
  const at = begin + found.index;
  return { name: head.slice(at), at, line: Number(line), column: Number(column) };
}

/** Answers the path of a frame's file. A URL that is no path stays as it is. */
export function pathOfFrame({ name }: FrameFile): string {
  try {
    return name.startsWith("file:") ? fileURLToPath(name) : name;
  } catch {
    return name;
  }
}
