import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/**
 * Calls `onLine` with each line of a UTF-8 stream, and with the rest after the last line break. Lines end only with
 * `\n` or `\r\n`. Node's readline would also end lines at U+2028 and U+2029, which JSON strings may contain.
 */
export function eachLine(stream: Readable, onLine: (line: string) => void): void {
  const decoder = new StringDecoder("utf8");
  let begun = "";
  stream.on("data", (chunk: Buffer) => {
    const [first = "", ...others] = decoder.write(chunk).split("\n");
    begun += first;
    for (const next of others) {
      onLine(begun.replace(/\r$/, ""));
      begun = next;
    }
  });
  stream.on("end", () => {
    begun += decoder.end();
    if (begun !== "") onLine(begun);
  });
}
