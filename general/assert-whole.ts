/**
 * Throws a `RangeError` for a value that is not a whole number of a range. Such a value is a bug of the caller, not an outcome of
 * the call.
 */
export function assertWhole(name: string, value: number, least: number, most: number): void {
  if (!Number.isInteger(value) || value < least || value > most)
    throw new RangeError(`${name} must be a whole number from ${least} to ${most}, not ${value}`);
}
