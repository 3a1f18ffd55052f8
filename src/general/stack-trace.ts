import { isAbsolute, relative, sep } from "node:path";
import { isOfPackages } from "./package-files.ts";
import { fileOfFrame, pathOfFrame } from "./stack-frames.ts";

export type LoggedError = { readonly message: string; readonly stack: string; readonly cause?: unknown };

const DEEPEST_CAUSE = 8;
const MESSAGE_LINES = 10;
/** Functions that call each other without end give a thousand frames, with two lines each. */
const PYTHON_LINES = 40;

export function isLoggedError(value: unknown): value is LoggedError {
  const { message, stack } = (value ?? {}) as Partial<Record<string, unknown>>;
  return typeof message === "string" && typeof stack === "string";
}

/**
 * The message, the frames of the user's own code (all frames if there is none), how many others there are, and the same of its causes.
 * `codeDir`: the folder of the function's code.
 */
export function traceLines(
  { message, stack, cause }: LoggedError,
  codeDir: string,
  deeper = DEEPEST_CAUSE,
): string[] {
  if (stack.startsWith("Traceback (most recent call last):")) return pythonLines(message, stack, codeDir);
  const found = stack.indexOf(message);
  const end = found === -1 ? 0 : found + message.length;
  const begin = stack.slice(end).search(/\n\s+at /);
  const frames = begin === -1 ? [] : stack.slice(end + begin + 1).split("\n");
  const own = frames.filter(isOwn);
  const shown = own.length > 0 ? own : frames;
  const others = frames.length - shown.length;
  const head = begin === -1 ? message : stack.slice(0, end + begin);
  return [
    ...head.split("\n").slice(0, MESSAGE_LINES),
    ...shown.map((frame) => shortFrame(frame, codeDir)),
    ...(others > 0 ? [`    … ${others} ${others === 1 ? "frame" : "frames"} of packages and Node.js`] : []),
    ...(isLoggedError(cause) && deeper > 0 ? causedBy(traceLines(cause, codeDir, deeper - 1)) : []),
  ];
}

/** The stack with all of its frames, and the same of its causes. The product's logger has bounded both. */
export function wholeTrace({ stack, cause }: LoggedError, codeDir: string, deeper = DEEPEST_CAUSE): string[] {
  const lines = stack.trimEnd().split("\n");
  const isDeeper = isLoggedError(cause) && deeper > 0;
  return [
    ...lines.map((line) => shortFrame(line, codeDir)),
    ...(isDeeper ? causedBy(wholeTrace(cause, codeDir, deeper - 1)) : []),
  ];
}

/** The message with the error's type, and the frames in Python's own order, with the causes. In a traceback the message comes last. */
function pythonLines(message: string, stack: string, codeDir: string): string[] {
  const trace = stack.trimEnd();
  const found = trace.lastIndexOf(message);
  const begin = trace.lastIndexOf("\n", found === -1 ? trace.length : found) + 1;
  const frames = trace.slice(0, begin).trimEnd().split("\n").slice(-PYTHON_LINES);
  return [
    ...trace.slice(begin).split("\n").slice(0, MESSAGE_LINES),
    ...frames.map((frame) => frame.replace(`File "${codeDir}${sep}`, 'File "')),
  ];
}

function causedBy([head = "", ...rest]: string[]): string[] {
  return [`caused by ${head}`, ...rest];
}

function isOwn(frame: string): boolean {
  const file = fileOfFrame(frame);
  return file !== undefined && !isOfPackages(file.name);
}

/** A source map names the sources as if the bundle lay in the folder in which the app was synthesised, so this is the path from there. */
export function shortFrame(frame: string, codeDir: string): string {
  const file = fileOfFrame(frame);
  if (file === undefined || !isAbsolute(codeDir)) return frame;
  const path = pathOfFrame(file);
  const name = isAbsolute(path) ? relative(codeDir, path).split(sep).join("/") : path;
  return frame.slice(0, file.at) + name + frame.slice(file.at + file.name.length);
}
