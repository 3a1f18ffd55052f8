import type { IncomingHttpHeaders } from "node:http";
import type { Readable, Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";

/** How many bytes of an answer's body are read, and how many of a compressed one are made of these: enough for the error in it. */
const READ_BYTES = 4096;

/** Reads the start of an answer's body as text. An incomplete body is no error: the status alone says how the call ended. */
export async function startOfBody(response: Readable, headers: IncomingHttpHeaders): Promise<string> {
  // This closes the connection, even if the receiver has not sent the whole body.
  const raw = await startOf(response);
  const encoding = (headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (raw.length === 0 || encoding === "identity" || encoding === "") return textOf(raw, headers);
  const decoder = decoderOf(encoding, raw);
  if (!decoder) return `the body is compressed (${encoding})`;
  // The rest of the compressed body is missing, so the decoder fails at the end. What it has decoded before counts.
  decoder.end(raw);
  const bytes = await startOf(decoder);
  return bytes.length === 0 ? `the body is no ${encoding}, as it says` : textOf(bytes, headers);
}

async function startOf(source: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= READ_BYTES) break;
    }
  } catch {
    // The body stalled, the connection broke off, or the bytes are not compressed as the answer says.
  }
  return Buffer.concat(chunks).subarray(0, READ_BYTES);
}

/** The chunks of a decoder are small, and it makes no more of them than are read. So a body that grows without end costs no memory. */
function decoderOf(encoding: string, raw: Buffer): Transform | undefined {
  if (encoding === "gzip" || encoding === "x-gzip") return createGunzip();
  if (encoding === "br") return createBrotliDecompress();
  // Some servers leave out the header of zlib, whose lower half byte is 8.
  if (encoding === "deflate") return ((raw[0] ?? 0) & 15) === 8 ? createInflate() : createInflateRaw();
  return undefined;
}

function textOf(bytes: Buffer, headers: IncomingHttpHeaders): string {
  const [, charset = "utf-8"] = /charset="?([^\s;"]+)/i.exec(headers["content-type"] ?? "") ?? [];
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return bytes.toString();
  }
}
