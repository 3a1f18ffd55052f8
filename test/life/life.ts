/** What the app of these tests deploys: a queue of Lambda topics, in a stack that keeps its data. */
export type Life = {
  readonly id: string;
  readonly topics: readonly string[];
  /** The timeout of the consumers, in seconds. */
  readonly timeout?: number;
  readonly table?: string;
  /** Whether the consumers are aliases of their functions' current versions. */
  readonly hasAliases?: boolean;
  /** Whether the stack has another resource whose creation fails after the delay queue is created. */
  readonly isBroken?: boolean;
  /** Whether the stack has a second delay queue, with a prefix of its own and a topic `letters`. */
  readonly hasSecond?: boolean;
  /** Whether the first queue has an HTTP API, behind a Lambda authorizer that lets the bearer of `TOKEN` in. */
  readonly hasApi?: boolean;
};

export const STACK = "Life";
export const TOKEN = "ey.life";
/** Whom the authorizer names. */
export const PRINCIPAL = "shop-17";
