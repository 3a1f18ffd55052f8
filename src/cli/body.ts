import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { messageOf } from "../core/errors.ts";
import { parseJson } from "../core/json.ts";
import { UsageError } from "./cli-error.ts";
import type { Surroundings } from "./surroundings.ts";

/** JSON, `@file` with JSON, or `-` for stdin. Throws `UsageError` for no JSON in UTF-8, and for numbers that JavaScript would alter. */
export async function readBody(named: string, { stdin }: Surroundings, flag = "--body"): Promise<unknown> {
  try {
    const bytes = await bytesOf(named, stdin);
    return parseJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw new UsageError(`${flag} must be JSON, @file, or - to read stdin: ${messageOf(error)}`);
  }
}

async function bytesOf(named: string, stdin: Surroundings["stdin"]): Promise<Buffer> {
  if (named === "-") return buffer(stdin);
  return named.startsWith("@") ? readFile(named.slice(1)) : Buffer.from(named);
}
