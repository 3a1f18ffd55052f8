import type { Readable } from "node:stream";

type Sink = {
  /** `done` is called once the text is out, or cannot be any more. */
  write(text: string, done?: () => void): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
};

/** What the program meets: its streams, the environment, time, and Ctrl-C. */
export type Surroundings = {
  /** Written too: `--region` and `--profile` are for the AWS SDK, which reads them here. */
  readonly env: Record<string, string | undefined>;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Sink;
  readonly stderr: Sink;
  /** ms since the epoch. */
  readonly clock: () => number;
  /** Resolves after so many ms. */
  readonly wait: (ms: number) => Promise<void>;
  /** Resolves when somebody interrupts. From the call on nothing else does what an interruption would. */
  readonly interrupted: () => Promise<void>;
  /** From the call on the program ends, as done, where nobody reads stdout any more. Else what is written there is lost. */
  readonly endUnread: () => void;
  /** Such as `v24.1.0`. */
  readonly nodeVersion: string;
};
