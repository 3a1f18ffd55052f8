/** Throws when a caller goes past a range of SQS: that is an error of the program, not an outcome. */
export function assertWhole(name: string, value: number, least: number, most: number): void {
  if (!Number.isInteger(value) || value < least || value > most)
    throw new RangeError(`${name} must be a whole number from ${least} to ${most}, not ${value}`);
}
