import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { printable } from "../../local/printable.ts";
import type { Job, JobState, Schedule } from "../client/answers.ts";
import { messageOf } from "../core/errors.ts";
import { CliError, UsageError } from "./cli-error.ts";

/** What an export contains. A second start of the same export takes it from the file. */
export type Extent = {
  readonly url: string;
  readonly from?: string;
  readonly to?: string;
  readonly topic?: string;
  readonly state?: JobState;
};

/**
 * A line of an export. The first one is `export`. `reached` is the cursor after the part that stands above it. `complete` is the time at which an
 * export ended: it is the last line, unless a later export has added to the file.
 */
export type ExportLine =
  | { readonly export: { readonly version: 1 } & Extent }
  | { readonly schedule: Schedule }
  | { readonly job: Job }
  | { readonly reached: string }
  | { readonly complete: string };

type Written = {
  readonly extent: Extent;
  /** The names of the schedules and the ids of the jobs in the file. */
  readonly names: Set<string>;
  readonly ids: Set<string>;
  /** Where an interrupted export goes on. Absent: at the beginning of its range. */
  readonly reached?: string;
  readonly isComplete: boolean;
};

export type ExportFile = Written & {
  readonly write: (lines: readonly ExportLine[]) => Promise<void>;
  readonly close: () => Promise<void>;
};

/**
 * Opens an export to go on with it, or begins one of `extent`. A line that an interrupted export has not finished is removed.
 * Throws `UsageError` if the file is no export, or one of something else.
 */
export async function openExport(path: string, extent: Extent): Promise<ExportFile> {
  const found = await readWritten(path);
  if (found !== undefined) requireSame(path, found.extent, extent);
  // Bodies may be secrets, so other users of the machine get no right.
  const handle = await open(path, "a", 0o600).catch((error: unknown) => {
    throw new UsageError(`${path} cannot be written: ${messageOf(error)}`);
  });
  const write: ExportFile["write"] = async (lines) => {
    try {
      await handle.appendFile(lines.map((line) => `${printable(JSON.stringify(line))}\n`).join(""));
    } catch (error) {
      throw new CliError(`${path} cannot be written: ${messageOf(error)}`);
    }
  };
  const file = { write, close: () => handle.close() };
  if (found !== undefined) {
    await handle.truncate(found.end);
    return { ...found, ...file };
  }
  await write([{ export: { version: 1, ...extent } }]);
  return { extent, names: new Set(), ids: new Set(), isComplete: false, ...file };
}

function requireSame(path: string, extent: Extent, asked: Partial<Extent>): void {
  for (const [name, value] of Object.entries(asked)) {
    const begun = extent[name as keyof Extent];
    if (value === undefined || value === begun) continue;
    throw new UsageError(
      `${path} is an export of ${name} ${begun ?? "(all)"}, and not of ${value}: give another file`,
    );
  }
}

/** `undefined`: there is no file, or it is empty. `end`: where its last whole line ends, in bytes. */
async function readWritten(path: string): Promise<(Written & { readonly end: number }) | undefined> {
  const [names, ids] = [new Set<string>(), new Set<string>()];
  let extent: Extent | undefined;
  let reached: { reached?: string } = {};
  let [end, isComplete, isEmpty] = [0, false, true];
  for await (const { text, end: lineEnd, isWhole } of linesOf(path)) {
    isEmpty = false;
    if (!isWhole) break;
    const line = lineOf(path, text);
    end = lineEnd;
    isComplete = "complete" in line;
    if ("export" in line) extent ??= extentOf(line.export);
    else if ("schedule" in line) names.add(line.schedule.name);
    else if ("job" in line) ids.add(line.job.id);
    else if ("reached" in line) reached = { reached: line.reached };
    else reached = {};
  }
  if (isEmpty) return undefined;
  if (extent === undefined) throw notAnExport(path);
  return { extent, names, ids, ...reached, isComplete, end };
}

function lineOf(path: string, text: string): ExportLine {
  try {
    return JSON.parse(text);
  } catch {
    throw notAnExport(path);
  }
}

function extentOf({ version: _, ...extent }: { readonly version: 1 } & Extent): Extent {
  return extent;
}

function notAnExport(path: string): UsageError {
  return new UsageError(`${path} exists, and is not an export of this command: give another file`);
}

type TextLine = {
  readonly number: number;
  readonly text: string;
  readonly end: number;
  readonly isWhole: boolean;
};

const NEWLINE = 0x0a;

/**
 * Yields the lines of a file, none if there is no file. Only a newline ends a line: `readline` would also end one at U+2028, which a text in
 * JSON may contain. Throws `UsageError` for a file that cannot be read.
 */
export async function* linesOf(path: string): AsyncIterable<TextLine> {
  let rest: Buffer = Buffer.alloc(0);
  let [number, end] = [0, 0];
  const utf8 = new TextDecoder("utf-8", { fatal: true });
  const next = (bytes: Buffer, isWhole: boolean): TextLine => {
    number += 1;
    end += bytes.length + (isWhole ? 1 : 0);
    // A crash may have cut the last line off within a character.
    return { number, text: isWhole ? utf8.decode(bytes) : bytes.toString(), end, isWhole };
  };
  try {
    for await (const chunk of createReadStream(path)) {
      rest = Buffer.concat([rest, chunk as Buffer]);
      for (let at = rest.indexOf(NEWLINE); at >= 0; at = rest.indexOf(NEWLINE)) {
        yield next(rest.subarray(0, at), true);
        rest = rest.subarray(at + 1);
      }
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw new UsageError(`${path} cannot be read: ${messageOf(error)}`);
  }
  if (rest.length > 0) yield next(rest, false);
}
