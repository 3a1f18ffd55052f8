import { statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { AssetHashType, DockerImage, type Duration } from "aws-cdk-lib";
import { Code } from "aws-cdk-lib/aws-lambda";
import { bundle } from "./bundle.ts";
import type { ConsumerOptions } from "./consumer.ts";

export type HandlerOptions = ConsumerOptions & {
  /**
   * How long an invocation may take, 10 seconds to 15 minutes.
   *
   * @default 60 seconds
   */
  readonly timeout?: Duration;
  /**
   * In MiB, 128 to 10,240.
   *
   * @default 512
   */
  readonly memorySize?: number;
  /** @default none but the queue's own */
  readonly environment?: Readonly<Record<string, string>>;
};

const LONGEST_TIMEOUT_S = 900;
const LEAST_MEMORY_MIB = 128;
const MOST_MEMORY_MIB = 10_240;

/** What forbids these options: the rule, the value and what is allowed; `undefined`: nothing. */
export function handlerError(timeout: Duration, memorySize: number): string | undefined {
  if (timeout.toSeconds() > LONGEST_TIMEOUT_S)
    return `a handler's timeout must be one of Lambda's, is ${timeout.toSeconds()} s; allowed: 10 to ${LONGEST_TIMEOUT_S} s`;
  if (!Number.isInteger(memorySize) || memorySize < LEAST_MEMORY_MIB || memorySize > MOST_MEMORY_MIB)
    return `a handler's memorySize must be whole MiB, is ${memorySize}; allowed: ${LEAST_MEMORY_MIB} to ${MOST_MEMORY_MIB}`;
  return undefined;
}

/**
 * Bundles a handler's file, by its path from the working directory, at each synth: its imports decide what is in it, and no
 * list of them says whether another file would be found today. Throws if it is not there, does not compile or is no ES
 * module that exports `handler`.
 */
export function handlerCode(entry: string): Code {
  const file = resolve(entry);
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true)
    throw new Error(`a handler must be a file, is "${entry}"; allowed: a path from ${process.cwd()}`);
  const { code, exports } = bundle(file, process.cwd());
  if (!exports.includes("handler")) {
    const actual = exports.length > 0 ? exports.join(", ") : "nothing";
    throw new Error(
      `a handler's file must be an ES module that exports "handler", ${entry} exports ${actual}; ` +
        "allowed: export const handler = …",
    );
  }
  return Code.fromAsset(dirname(file), {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      // Used only where `local` does nothing; but the CDK takes two assets of one folder for the same if this is.
      image: DockerImage.fromRegistry("none"),
      command: [file],
      local: {
        tryBundle(folder) {
          writeFileSync(join(folder, "index.mjs"), code);
          return true;
        },
      },
    },
  });
}
