import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { eachLine } from "../../../local/functions/each-line.ts";

async function linesOf(...chunks: (string | Buffer)[]): Promise<string[]> {
  const lines: string[] = [];
  const stream = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
  eachLine(stream, (line) => lines.push(line));
  await new Promise((resolve) => stream.on("close", resolve));
  return lines;
}

test("a line ends only with a line feed, not with U+2028 or U+2029", async () => {
  expect(await linesOf('{"a":"b\u2028c\u2029d\u0085"}\n')).toEqual(['{"a":"b\u2028c\u2029d\u0085"}']);
});

test("a line or a character may span chunks", async () => {
  const euro = Buffer.from("€");
  expect(await linesOf("a\nb", "c\r", "\n\n", euro.subarray(0, 1), euro.subarray(1), "\nend")).toEqual([
    "a",
    "bc",
    "",
    "€",
    "end",
  ]);
});

test("half a character at the end becomes a replacement character", async () => {
  expect(await linesOf(Buffer.from("€").subarray(0, 2))).toEqual(["\ufffd"]);
});
