import type { Readable } from "node:stream";
import type { OptionalPackage } from "../general/optional-packages.ts";

type Sink = {
  /** `done` is called when the text is written, or cannot be written any more. */
  write(text: string, done?: () => void): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
};

/** What the program gets from its process: streams, environment, time, and Ctrl-C. */
export type Surroundings = {
  /** The environment variables. The program also sets some, to pass `--region` and `--profile` to the AWS SDK. */
  readonly env: Record<string, string | undefined>;
  readonly folder: string;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Sink;
  readonly stderr: Sink;
  /** ms since the epoch. */
  readonly clock: () => number;
  readonly wait: (ms: number) => Promise<void>;
  /** Resolves at Ctrl-C. After the first call, Ctrl-C no longer ends the process by itself. */
  readonly interrupted: () => Promise<void>;
  /** Lets the program exit with 0 when the reader of stdout has gone. Without this call the program continues, and its output is lost. */
  readonly endUnread: () => void;
  /** The version of Node, such as `v24.1.0`. */
  readonly nodeVersion: string;
  /** Whether an optional package is installed. Default: it can be imported from here. */
  readonly isInstalled?: (name: OptionalPackage) => boolean;
};
