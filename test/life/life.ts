/** What the app of these tests deploys: a queue of Lambda topics without an HTTP API, in a stack that keeps its data. */
export type Life = {
  /** The construct's id. */
  readonly id: string;
  readonly topics: readonly string[];
  /** Of the consumers, in seconds. */
  readonly timeout?: number;
  /** Takes this table instead of a new one. */
  readonly table?: string;
  /** Something else in the stack cannot be created, when the queue is there. */
  readonly isBroken?: boolean;
  /** A second queue, with a prefix of its own and a topic `letters`. */
  readonly hasSecond?: boolean;
};

export const STACK = "Life";
