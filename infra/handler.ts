import { statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { AssetHashType, DockerImage, type Duration, Token } from "aws-cdk-lib";
import { Code, type FunctionOptions } from "aws-cdk-lib/aws-lambda";
import type { BundlingOptions } from "aws-cdk-lib/aws-lambda-nodejs";
import { RetentionDays } from "aws-cdk-lib/aws-logs";
import { withoutPackages } from "../src/general/package-files.ts";
import { type Names, unknownNames } from "../src/general/unknown-names.ts";
import { type AppDuration, insteadOfAppDuration } from "./app-duration.ts";
import { type Bundle, bundle } from "./bundling/bundle.ts";
import type { BundleNote } from "./bundling/bundle-note.ts";
import { shown } from "./checks/check.ts";
import type { ConsumerOptions } from "./consumer.ts";

const PASSED_ON = [
  ...["description", "layers", "tracing", "ephemeralStorageSize", "filesystem", "initialPolicy"],
  ...[
    "vpc",
    "vpcSubnets",
    "securityGroups",
    "allowAllOutbound",
    "allowPublicSubnet",
    "ipv6AllowedForDualStack",
  ],
  ...["reservedConcurrentExecutions", "environmentEncryption"],
] as const satisfies (keyof FunctionOptions)[];
export type PassedOn = Pick<FunctionOptions, (typeof PASSED_ON)[number]>;

/**
 * The options of a handler's function. It also takes these of the CDK's `FunctionOptions`, with the CDK's types and meanings:
 * `description`, `layers`, `tracing` (by default as the queue's `tracing`), `ephemeralStorageSize`, `filesystem`, `initialPolicy`, `vpc`,
 * `vpcSubnets`, `securityGroups`, `allowAllOutbound`, `allowPublicSubnet`, `ipv6AllowedForDualStack`, `reservedConcurrentExecutions` and
 * `environmentEncryption`.
 */
export type HandlerOptions = ConsumerOptions &
  PassedOn & {
    /**
     * How long an invocation may take, 10 seconds to 15 minutes.
     * @default 60 seconds
     */
    readonly timeout?: AppDuration;
    /**
     * The memory of the function in MiB, 128 to 10,240.
     * @default 512
     */
    readonly memorySize?: number;
    /**
     * Environment variables of the function, in addition to those of the queue.
     * @default none
     */
    readonly environment?: Readonly<Record<string, string>>;
    /**
     * How long CloudWatch keeps the log of the function.
     * @default one month
     */
    readonly logRetention?: RetentionDays;
    /**
     * `externalModules`: packages that are not bundled, because a layer or the runtime has them, such as `["sharp", "@aws-sdk/*"]`.
     * @default everything is bundled, except packages of the AWS SDK that are not installed: Lambda's runtime has them
     */
    readonly bundling?: Pick<BundlingOptions, "externalModules">;
    /**
     * Whether stack traces name the files and lines of the source. The bundle gets a source map without the sources' text, and the function
     * gets `--enable-source-maps`, in addition to your own `NODE_OPTIONS` in `environment`. Measured cost at a cold start:
     * docs/reference/limits-and-cost.md.
     * @default true
     */
    readonly sourceMaps?: boolean;
  };

const OWN: Names<Omit<HandlerOptions, keyof PassedOn>> = {
  ...{
    batchSize: true,
    timeout: true,
    memorySize: true,
    environment: true,
    logRetention: true,
    bundling: true,
    sourceMaps: true,
  },
};

/** "Working with Lambda environment variables", AWS Lambda Developer Guide. */
const VARIABLE = /^[A-Za-z][A-Za-z0-9_]+$/;

/** Only plain JavaScript can give an unknown option, a timeout that is no duration, or a retention that CloudWatch Logs does not know. */
export function wrongHandlerOptions(options: HandlerOptions): string[] {
  const { environment = {}, logRetention = RetentionDays.ONE_MONTH } = options;
  const allowed = insteadOfAppDuration(options.timeout);
  const variable = Object.keys(environment).find((name) => !VARIABLE.test(name));
  const isRetention = Token.isUnresolved(logRetention) || RetentionDays[logRetention] !== undefined;
  return [
    ...unknownNames("addHandler", "option", options, [...Object.keys(OWN), ...PASSED_ON]),
    ...unknownNames("bundling", "option", options.bundling, ["externalModules"]),
    ...(allowed === undefined
      ? []
      : [`the timeout of a handler must be ${allowed}, got ${shown(options.timeout)}`]),
    ...(variable === undefined
      ? []
      : [
          `a name in the environment of a handler must be a letter, then letters, digits and _, at least 2 characters, got ${shown(variable)}`,
        ]),
    ...(isRetention
      ? []
      : [
          `the logRetention of a handler must be a value of RetentionDays, such as RetentionDays.ONE_WEEK, got ${shown(logRetention)}`,
        ]),
  ];
}

const LONGEST_TIMEOUT_S = 900;
const LEAST_MEMORY_MIB = 128;
const MOST_MEMORY_MIB = 10_240;

/** `undefined` if Lambda would accept them. */
export function handlerError(timeout: Duration, memorySize: number): string | undefined {
  if (timeout.toSeconds() > LONGEST_TIMEOUT_S)
    return `the timeout of a handler must be 10 to ${LONGEST_TIMEOUT_S} s, got ${timeout.toSeconds()} s`;
  if (!Number.isInteger(memorySize) || memorySize < LEAST_MEMORY_MIB || memorySize > MOST_MEMORY_MIB)
    return `the memorySize of a handler must be a whole number of MiB from ${LEAST_MEMORY_MIB} to ${MOST_MEMORY_MIB}, got ${memorySize}`;
  return undefined;
}

export type HandlerCode = {
  readonly code: Code;
  readonly bundle: BundleNote;
  /** A handler that is not wrapped with `consumer` runs no job. */
  readonly hasConsumer: boolean;
  /** Packages of the AWS SDK that are not installed. */
  readonly leftToRuntime: readonly string[];
};

/** The result of `consumer` has a property `jobHandler`, which minifying keeps. If `minutehand` is external, the import's name is there. */
const MARKS_OF_CONSUMER = /\bjobHandler\b|minutehand\/consumer/;

/**
 * `entry`: the path from the working directory. Keeps no cache, because a list of the last inputs cannot say whether an import would
 * resolve to another file today. Throws if the file does not exist, does not compile or exports no `handler`.
 */
export function handlerCode(
  entry: string,
  {
    bundling: { externalModules = [] } = {},
    sourceMaps = true,
  }: Pick<HandlerOptions, "bundling" | "sourceMaps">,
): HandlerCode {
  const file = resolve(entry);
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true)
    throw new Error(`a handler must be a file, but there is no file "${entry}" in ${process.cwd()}`);
  const root = process.cwd();
  const choices = { sourceMap: sourceMaps, external: externalModules };
  const made = bundle(file, root, choices);
  const { code, exports, inputs, leftToRuntime, options } = made;
  if (exports?.includes("handler") === false) {
    const actual = exports.length > 0 ? exports.join(", ") : "nothing by name";
    throw new Error(
      `the file of a handler must export "handler" (export const handler = …), but ${entry} exports ${actual}`,
    );
  }
  return {
    code: assetOf(file, choices, made),
    bundle: {
      inputs: withoutPackages(inputs.map((path) => resolve(root, path))),
      build: options,
    },
    hasConsumer: MARKS_OF_CONSUMER.test(Buffer.from(code).toString()),
    leftToRuntime,
  };
}

function assetOf(
  file: string,
  choices: object,
  { file: name, code, map }: Pick<Bundle, "file" | "code" | "map">,
): Code {
  return Code.fromAsset(dirname(file), {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      // `local` always bundles, so the CDK never runs this image or command. But the command distinguishes the assets of two files in one
      // folder, and the bundles of one file with different choices.
      image: DockerImage.fromRegistry("none"),
      command: [file, JSON.stringify(choices)],
      local: {
        tryBundle(folder) {
          writeFileSync(join(folder, name), code);
          if (map !== undefined) writeFileSync(join(folder, `${name}.map`), map);
          return true;
        },
      },
    },
  });
}

const ENABLE_SOURCE_MAPS = "--enable-source-maps";

/** Node then reads the source map of the bundle. */
export function withSourceMaps(environment: Readonly<Record<string, string>>): Record<string, string> {
  const options =
    environment.NODE_OPTIONS?.split(" ").filter((one) => ![ENABLE_SOURCE_MAPS, ""].includes(one)) ?? [];
  return { ...environment, NODE_OPTIONS: [...options, ENABLE_SOURCE_MAPS].join(" ") };
}
