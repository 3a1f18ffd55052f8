/** A number of DynamoDB: `0.<digits> × 10^exponent`. Zero has no digits. */
type Decimal = { readonly negative: boolean; readonly digits: string; readonly exponent: number };

/** "Data types and naming rules", DynamoDB Developer Guide: 38 digits, from 1E-130 to less than 1E+126. */
const MAX_DIGITS = 38;
const EXPONENTS = { min: -129, max: 126 };
const PATTERN = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

/** Answers a number as DynamoDB stores it: `1.50` as `1.5`. Throws `RangeError` if DynamoDB has no such number. */
export function normaliseNumber(text: string): string {
  return format(parse(text));
}

/** Negative if `a` is less than `b`, 0 if they are equal. */
export function compareNumbers(a: string, b: string): number {
  const [left, right] = [sortableNumber(a), sortableNumber(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Throws `RangeError` if DynamoDB has no such sum. */
export function addNumbers(a: string, b: string): string {
  const [left, right] = [toScaled(parse(a)), toScaled(parse(b))];
  const scale = Math.min(left.scale, right.scale);
  const sum = shift(left.integer, left.scale - scale) + shift(right.integer, right.scale - scale);
  return normaliseNumber(`${sum}E${scale}`);
}

export function negateNumber(text: string): string {
  const { negative, ...size } = parse(text);
  return format({ ...size, negative: !negative });
}

export function sortableNumber(text: string): string {
  const { negative, digits, exponent } = parse(text);
  if (digits === "") return "1";
  const size = `${String(exponent + 200).padStart(3, "0")}${digits}`;
  if (!negative) return `2${size}`;
  // Complements reverse the order. `~` sorts after every digit, so of two texts that begin alike the longer sorts first: -1.5 before -1.
  return `0${size.replace(/\d/g, (digit) => String(9 - Number(digit)))}~`;
}

function parse(text: string): Decimal {
  const [, sign, whole = "", fraction = "", power = "0"] = PATTERN.exec(text) ?? [];
  if (sign === undefined || whole + fraction === "") throw new RangeError(`${text} is not a number`);
  const all = whole + fraction;
  const leading = /^0*/.exec(all)?.[0].length ?? 0;
  const digits = all.slice(leading).replace(/0+$/, "");
  if (digits === "") return { negative: false, digits, exponent: 0 };
  const exponent = whole.length - leading + Number(power);
  if (digits.length > MAX_DIGITS || exponent < EXPONENTS.min || exponent > EXPONENTS.max)
    throw new RangeError(`${text} has more than ${MAX_DIGITS} digits, or is too large or too small`);
  return { negative: sign === "-", digits, exponent };
}

function format({ negative, digits, exponent }: Decimal): string {
  if (digits === "") return "0";
  const sign = negative ? "-" : "";
  if (exponent <= 0) return `${sign}0.${"0".repeat(-exponent)}${digits}`;
  const whole = digits.slice(0, exponent).padEnd(exponent, "0");
  const fraction = digits.slice(exponent);
  return `${sign}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}

function toScaled({ negative, digits, exponent }: Decimal): { integer: bigint; scale: number } {
  return { integer: BigInt(`${negative ? "-" : ""}${digits || "0"}`), scale: exponent - digits.length };
}

function shift(integer: bigint, by: number): bigint {
  return integer * 10n ** BigInt(by);
}
