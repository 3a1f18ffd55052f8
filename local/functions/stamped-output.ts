import { StringDecoder } from "node:string_decoder";

/** The ASCII character "record separator", with which hardly any line of a log begins. */
const MARK = "\u001e";
const STAMP = new RegExp(`^${MARK}(\\d+) `);

/** Stamps each line with its time, and sends stderr to stdout: a reader of two pipes does not know which line was written first. */
export function stampOutput(): void {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  /** The stream whose last line has no end yet. */
  let unfinished: NodeJS.WriteStream | undefined;

  for (const stream of [stdout, stderr]) {
    const decoder = new StringDecoder("utf8");
    stream.write = (chunk: Uint8Array | string, ...rest: unknown[]): boolean => {
      const [encoding] = rest.filter((one) => typeof one === "string");
      const done = rest.find((one) => typeof one === "function") as (() => void) | undefined;
      const bytes =
        typeof chunk === "string" ? Buffer.from(chunk, encoding as BufferEncoding) : Buffer.from(chunk);
      const text = decoder.write(bytes);
      if (text === "") return write("", done);
      // A line of the other stream must not continue this one.
      const end = unfinished !== undefined && unfinished !== stream ? "\n" : "";
      const isNewLine = unfinished !== stream;
      unfinished = text.endsWith("\n") ? undefined : stream;
      return write(end + stamped(text, isNewLine), done);
    };
  }
}

function stamped(text: string, isNewLine: boolean): string {
  const stamp = `${MARK}${Date.now()} `;
  return (isNewLine ? stamp : "") + text.replace(/\n(?!$)/g, `\n${stamp}`);
}

/** Answers a line without its stamp, and when it was written, ms since the epoch. `now`: the time of a line without a stamp. */
export function readStamp(line: string, now: number): { line: string; writtenAt: number } {
  const [stamp, time] = STAMP.exec(line) ?? [];
  if (stamp === undefined) return { line, writtenAt: now };
  return { line: line.slice(stamp.length), writtenAt: Number(time) };
}
