import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/**
 * Calls `onLine` with each line of UTF-8 that a stream brings, and with what comes after the last one. Lines end with `\n` or
 * `\r\n` alone: readline ends them at U+2028 and U+2029 too, which JSON has within its strings.
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
