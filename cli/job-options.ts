import type { Command } from "commander";
import type { EnqueueOptions } from "../client/client.ts";
import { duration, header, wholeNumber } from "./arguments.ts";
import { readBody } from "./body.ts";
import type { Surroundings } from "./surroundings.ts";

/** What a job may have however it is filed, as its options say it. */
export type JobFlags = Omit<EnqueueOptions, "headers"> & { body: string; header?: Record<string, string> };

export function addJobOptions(command: Command): Command {
  return command
    .requiredOption("--body <json>", "its body: JSON, @file, or - for stdin")
    .option("--callback-url <url>", "where a webhook topic's job is sent")
    .option("--header <name=value>", "what a handler or receiver gets beside it; can be repeated", header)
    .option("--expires-after <duration>", "later than that it is not run any more", duration)
    .option("--max-attempts <n>", "instead of the topic's", wholeNumber(1, 100))
    .option("--tag <tag>", "to find it by")
    .option("--group <group>", "a tenant, to be fair to")
    .option("--spread <duration>", "due by up to so much later, evenly drawn", duration);
}

/** The same as the client takes it. Throws `UsageError` for a body that is none. */
export async function jobOf<Flags extends JobFlags>(
  { body, header, ...options }: Flags,
  surroundings: Surroundings,
) {
  const headers = header === undefined ? {} : { headers: header };
  return { body: await readBody(body, surroundings), options: { ...options, ...headers } };
}
