/**
 * What a topic does about events of EventBridge. The construct writes these rules into the environment of the function
 * that the events reach. Durations are seconds.
 */
export type EventRule = CancelRule | EnqueueRule;

type Matched = {
  readonly topic: string;
  /** Absent: whatever its source. */
  readonly source?: string;
  readonly detailType: string;
  /** Where in the event the job's key stands, such as `$.detail.orderId`. */
  readonly key: string;
};

export type CancelRule = Matched & {
  readonly do: "cancel";
  /** How long the event cancels jobs of its key that are filed after it; 0: not at all. */
  readonly tombstone: number;
};

export type EnqueueRule = Matched & {
  readonly do: "enqueue";
  readonly delay: number;
  /** Where in the event the job's body stands, such as `$.detail`. */
  readonly body: string;
  readonly onDuplicate: "keep" | "replace" | "postpone";
  /** With `postpone` only. */
  readonly maxDelay?: number;
};
