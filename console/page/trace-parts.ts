/** Lines of a stack trace that belong together: the frames of packages and of Node.js, or all others. */
export type TracePart = { readonly isOfPackages: boolean; readonly lines: readonly string[] };

const FRAME = /^\s+at /;
const PLACE = /:\d+:\d+\)?$/;
const IN_PACKAGES = /(?:^|[\s(/\\])node_modules[/\\]|[\s(]node:/;

/** Frames without a file, such as that of `Promise.all`, are of Node.js. */
const isForeign = (frame: string): boolean => !PLACE.test(frame) || IN_PACKAGES.test(frame);

/** A trace without a frame of the user's own code has one part, because then each frame may be the one that says what is wrong. */
export function partsOf(trace: string): TracePart[] {
  const lines = trace.split("\n");
  const frames = lines.filter((line) => FRAME.test(line));
  if (frames.every(isForeign)) return [{ isOfPackages: false, lines }];
  const parts: { isOfPackages: boolean; lines: string[] }[] = [];
  for (const line of lines) {
    const isOfPackages = FRAME.test(line) && isForeign(line);
    const last = parts.at(-1);
    if (last?.isOfPackages === isOfPackages) last.lines.push(line);
    else parts.push({ isOfPackages, lines: [line] });
  }
  return parts;
}
