import type { IncomingMessage, ServerResponse } from "node:http";
import type { LogLine } from "../local/log-lines.ts";

/** How many lines a page gets when it opens the stream. */
const KEPT_LINES = 1000;
/** How much may wait for a slow reader, bytes. A reader that is slower loses its stream, and opens a new one. */
const WAITING_BYTES = 4 * 1024 * 1024;
/** How long a page waits before it opens a lost stream again, ms. */
const RETRY_MS = 1000;

/** A line of the stream. `number` counts the lines of this run, from 1. */
export type LiveLine = Omit<LogLine, "event" | "trace" | "pid"> & { readonly number: number };

export type Live = {
  readonly add: (line: LogLine) => void;
  /** Sends the kept lines and then each further line, as server-sent events, until the reader goes. */
  readonly stream: (request: IncomingMessage, response: ServerResponse) => void;
};

export function createLive(): Live {
  let lines: LiveLine[] = [];
  let count = 0;
  const readers = new Set<ServerResponse>();

  function send(reader: ServerResponse, line: LiveLine): void {
    reader.write(`id: ${line.number}\ndata: ${JSON.stringify(line)}\n\n`);
    if (reader.writableLength > WAITING_BYTES) reader.destroy();
  }

  return {
    add({ event: _, trace: __, pid: ___, ...line }) {
      count += 1;
      const added = { ...line, number: count };
      lines = [...lines, added].slice(-KEPT_LINES);
      for (const reader of readers) send(reader, added);
    },
    stream(request, response) {
      response.writeHead(200, {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "cross-origin-resource-policy": "same-origin",
      });
      // An answer to HEAD has no content, so it must end.
      if (request.method === "HEAD") return void response.end();
      response.write(`retry: ${RETRY_MS}\n\n`);
      // The browser repeats the number of the last line that it got. A number above `count` comes from an earlier run.
      const last = Number(request.headers["last-event-id"]);
      const after = last <= count ? last : 0;
      for (const line of lines) if (line.number > after) send(response, line);
      readers.add(response);
      response.on("close", () => readers.delete(response));
    },
  };
}
