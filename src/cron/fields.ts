/** `names`: of the values from `lowest` on. */
export type Field = {
  name: string;
  lowest: number;
  highest: number;
  names: readonly string[];
  steps: boolean;
};

const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
export const DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

export const MINUTE: Field = { name: "minutes", lowest: 0, highest: 59, names: [], steps: true };
export const HOUR: Field = { name: "hours", lowest: 0, highest: 23, names: [], steps: true };
export const DAY_OF_MONTH: Field = { name: "day-of-month", lowest: 1, highest: 31, names: [], steps: true };
export const MONTH: Field = { name: "month", lowest: 1, highest: 12, names: MONTHS, steps: true };
// "Schedule types in EventBridge Scheduler" allows no step in this field.
const DAY_OF_WEEK: Field = { name: "day-of-week", lowest: 1, highest: 7, names: DAYS, steps: false };
const YEAR: Field = { name: "year", lowest: 1970, highest: 2199, names: [], steps: true };

/** Makes croner's pattern of EventBridge's six fields, with numbers for names and `*` for `?`. Throws a RangeError with the field, the rule and the value. */
export function cronerPattern(fields: string): string {
  const [minutes = "", hours = "", dayOfMonth = "", month = "", dayOfWeek = "", year, ...more] = fields
    .trim()
    .split(/\s+/);
  if (year === undefined || more.length > 0) {
    throw new RangeError(
      "expression must have six fields in cron(minutes hours day-of-month month day-of-week year), " +
        `got ${JSON.stringify(fields)}`,
    );
  }
  if ((dayOfMonth === "?") === (dayOfWeek === "?")) {
    throw new RangeError(
      "expression must have ? for exactly one of day-of-month and day-of-week, " +
        `got ${JSON.stringify(`${dayOfMonth} … ${dayOfWeek}`)}`,
    );
  }
  return [
    "0",
    listOf(MINUTE, minutes),
    listOf(HOUR, hours),
    dayOfMonthOf(dayOfMonth),
    listOf(MONTH, month),
    dayOfWeekOf(dayOfWeek),
    listOf(YEAR, year),
  ].join(" ");
}

function dayOfMonthOf(text: string): string {
  if (text === "?") return "*";
  if (text === "L" || text === "LW") return text;
  const nearest = /^(\d+)W$/.exec(text)?.[1];
  return nearest === undefined ? listOf(DAY_OF_MONTH, text) : `${numberOf(DAY_OF_MONTH, nearest)}W`;
}

function dayOfWeekOf(text: string): string {
  if (text === "?") return "*";
  if (text === "L") return String(DAY_OF_WEEK.highest);
  const [, day, which] = /^([^#,-]+)(L|#[1-5])$/.exec(text) ?? [];
  return day === undefined ? listOf(DAY_OF_WEEK, text) : `${numberOf(DAY_OF_WEEK, day)}${which}`;
}

const listOf = (field: Field, text: string): string => eachPart(text, (part) => partOf(field, part));

/** Replaces each part of a list. */
export function eachPart(list: string, replace: (part: string) => string): string {
  return list.split(",").map(replace).join(",");
}

function partOf(field: Field, part: string): string {
  const [range = "", step, ...more] = part.split("/");
  const [from = "", to, ...further] = range.split("-");
  if (more.length > 0 || further.length > 0) throw fieldError(field, part);
  return `${from === "*" && to === undefined ? allOf(field) : rangeOf(field, from, to)}${stepOf(field, step)}`;
}

/** Answers all values of a field. For years it is a range, because croner's `*` begins with the year 0 and never ends. */
const allOf = (field: Field): string => (field === YEAR ? `${YEAR.lowest}-${YEAR.highest}` : "*");

function rangeOf(field: Field, from: string, to: string | undefined): string {
  const first = numberOf(field, from);
  if (to === undefined) return String(first);
  const last = numberOf(field, to);
  if (first > last) throw notAscending(field, `${from}-${to}`);
  return `${first}-${last}`;
}

function stepOf(field: Field, step: string | undefined): string {
  return step === undefined ? "" : `/${requireStep(field, step)}`;
}

export function requireStep(field: Field, step: string): number {
  const highest = field.highest - field.lowest + 1;
  if (!field.steps || !/^\d{1,4}$/.test(step) || +step < 1 || +step > highest) {
    const rule = field.steps ? `a step of 1 to ${highest}` : "no step";
    throw new RangeError(`expression must have ${rule} in ${field.name}, got "/${step}"`);
  }
  return +step;
}

function numberOf(field: Field, text: string): number {
  const value = /^\d{1,4}$/.test(text) ? +text : namedValue(field, text);
  if (!isInRange(field, value)) throw fieldError(field, text);
  return value;
}

/** NaN if the field has no such name. */
export function namedValue({ lowest, names }: Field, name: string): number {
  return names.includes(name) ? lowest + names.indexOf(name) : Number.NaN;
}

export function notAscending({ name }: Field, range: string): RangeError {
  return new RangeError(`expression must have ranges that ascend, got "${range}" in ${name}`);
}

export const isInRange = ({ lowest, highest }: Field, value: number): boolean =>
  value >= lowest && value <= highest;

export function fieldError({ name, lowest, highest, names }: Field, text: string): RangeError {
  const named = names.length > 0 ? ` or ${names[0]} to ${names.at(-1)}` : "";
  return new RangeError(
    `expression must have ${lowest} to ${highest}${named}, ranges, steps or lists of them in ${name}, ` +
      `got ${JSON.stringify(text)}`,
  );
}
