import { statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { AssetHashType, DockerImage, type Duration } from "aws-cdk-lib";
import { Code } from "aws-cdk-lib/aws-lambda";
import { bundle, optionsFor } from "./bundle.ts";
import { type BundleNote, withoutPackages } from "./bundle-note.ts";
import type { ConsumerOptions } from "./consumer.ts";

export type HandlerOptions = ConsumerOptions & {
  /**
   * How long an invocation may take, 10 seconds to 15 minutes.
   *
   * @default 60 seconds
   */
  readonly timeout?: Duration;
  /**
   * The memory of the function in MiB, 128 to 10,240.
   *
   * @default 512
   */
  readonly memorySize?: number;
  /**
   * Environment variables of the function, in addition to those of the queue.
   *
   * @default none
   */
  readonly environment?: Readonly<Record<string, string>>;
};

const LONGEST_TIMEOUT_S = 900;
const LEAST_MEMORY_MIB = 128;
const MOST_MEMORY_MIB = 10_240;

/** Says why Lambda would refuse these options; `undefined` if Lambda would accept them. */
export function handlerError(timeout: Duration, memorySize: number): string | undefined {
  if (timeout.toSeconds() > LONGEST_TIMEOUT_S)
    return `the timeout of a handler must be 10 to ${LONGEST_TIMEOUT_S} s, got ${timeout.toSeconds()} s`;
  if (!Number.isInteger(memorySize) || memorySize < LEAST_MEMORY_MIB || memorySize > MOST_MEMORY_MIB)
    return `the memorySize of a handler must be a whole number of MiB from ${LEAST_MEMORY_MIB} to ${MOST_MEMORY_MIB}, got ${memorySize}`;
  return undefined;
}

/** The bundle of a handler. */
export type HandlerCode = {
  readonly code: Code;
  readonly bundle: BundleNote;
  /** Whether the bundle contains `consumer`. A handler that is not wrapped with `consumer` runs no job. */
  readonly hasConsumer: boolean;
};

/** A bundle with `consumer` contains this property of its result. If the package is external, the bundle names the import. */
const MARKS_OF_CONSUMER = /\bjobHandler\b|minutehand\/consumer/;

/**
 * Bundles the file of a handler. `entry`: its path from the working directory. Bundles at each synth and keeps no cache, because a list
 * of the last inputs cannot say whether an import would resolve to another file today. Throws if the file does not exist, does not
 * compile or is not an ES module that exports `handler`.
 */
export function handlerCode(entry: string): HandlerCode {
  const file = resolve(entry);
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true)
    throw new Error(`a handler must be a file, but there is no file "${entry}" in ${process.cwd()}`);
  const root = process.cwd();
  const { code, exports, inputs } = bundle(file, root);
  if (!exports.includes("handler")) {
    const actual = exports.length > 0 ? exports.join(", ") : "nothing";
    throw new Error(
      `the file of a handler must be an ES module that exports "handler" (export const handler = …), but ${entry} exports ${actual}`,
    );
  }
  const asset = Code.fromAsset(dirname(file), {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      // `local` always bundles, so the CDK never runs this image or command. But the command distinguishes the assets of two files in one
      // folder.
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
  return {
    code: asset,
    bundle: {
      inputs: withoutPackages(inputs.map((path) => resolve(root, path))),
      build: optionsFor(file, root),
    },
    hasConsumer: MARKS_OF_CONSUMER.test(Buffer.from(code).toString()),
  };
}
