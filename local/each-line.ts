import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/** Also gives the rest after the last line break. Node's readline also breaks at U+2028 and U+2029, which JSON strings may contain. */
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
