import type { ConsumedCapacity } from "@aws-sdk/client-dynamodb";

/** Called with the units that each request consumed. `operation`: the method of the port. */
export type OnCapacity = (operation: string, units: { read: number; write: number }) => void;

export type Capacity = {
  /** The parameter that each request needs. */
  readonly asked: { ReturnConsumedCapacity?: "TOTAL" };
  used(
    operation: string,
    kind: "read" | "write",
    consumed: ConsumedCapacity | readonly ConsumedCapacity[] | undefined,
  ): void;
};

/** Makes requests ask DynamoDB for the consumed units, but only if there is an `onCapacity`. */
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
