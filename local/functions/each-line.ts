import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/** Lines end only with `\n` or `\r\n`: readline also breaks at U+2028 and U+2029, which JSON may contain. The rest is a line too. */
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
