import type { ConsumedCapacity } from "@aws-sdk/client-dynamodb";

/** What a request consumed, as DynamoDB counts. `operation` is the port's method. */
export type OnCapacity = (operation: string, units: { read: number; write: number }) => void;

export type Capacity = {
  /** Spread into each request. */
  readonly asked: { ReturnConsumedCapacity?: "TOTAL" };
  used(
    operation: string,
    kind: "read" | "write",
    consumed: ConsumedCapacity | readonly ConsumedCapacity[] | undefined,
  ): void;
};

/** Asks DynamoDB for units, and adds them up, only when somebody wants to know. */
export function capacityMeter(onCapacity: OnCapacity | undefined): Capacity {
  if (onCapacity === undefined) return { asked: {}, used: () => {} };
  return {
    asked: { ReturnConsumedCapacity: "TOTAL" },
    used(operation, kind, consumed = []) {
      let units = 0;
      for (const { CapacityUnits = 0 } of [consumed].flat()) units += CapacityUnits;
      onCapacity(operation, { read: 0, write: 0, [kind]: units });
    },
  };
}
