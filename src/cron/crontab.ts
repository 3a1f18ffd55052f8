import {
  DAY_OF_MONTH,
  DAYS,
  eachPart,
  type Field,
  fieldError,
  HOUR,
  isInRange,
  MINUTE,
  MONTH,
  namedValue,
  notAscending,
  requireStep,
} from "./fields.ts";

const NICKNAMES: Readonly<Record<string, string>> = {
  "@hourly": "cron(0 * * * ? *)",
  "@daily": "cron(0 0 * * ? *)",
  "@midnight": "cron(0 0 * * ? *)",
  "@weekly": "cron(0 0 ? * SUN *)",
  "@monthly": "cron(0 0 1 * ? *)",
  "@yearly": "cron(0 0 1 1 ? *)",
  "@annually": "cron(0 0 1 1 ? *)",
};

/** 0 and 7 are both Sunday. */
const DAY_OF_WEEK: Field = { name: "day-of-week", lowest: 0, highest: 7, names: DAYS, steps: true };

/**
 * Writes crontab(5)'s five fields and its names such as `@daily` as EventBridge Scheduler's `cron(…)`. Days of the week get names, because
 * their numbers differ: Sunday is 0 or 7 in crontab(5), and 1 in EventBridge. Answers any other text as it is.
 * @throws RangeError that names the rule and the value.
 */
export function schedulerExpression(text: string): string {
  const words = text.trim();
  if (words.startsWith("@")) return nicknamed(words);
  if (/^(cron|rate|at)\(/.test(words)) return text;
  const fields = words.split(/\s+/);
  if (fields.length === 6) {
    throw new RangeError(
      "expression must have the five fields minutes hours day-of-month month day-of-week, or EventBridge's six in cron(…), " +
        `got ${JSON.stringify(text)}`,
    );
  }
  const [minutes = "", hours = "", dayOfMonth = "", month = "", dayOfWeek] = fields;
  if (dayOfWeek === undefined || fields.length > 5) return text;
  const times = `${listOf(MINUTE, minutes)} ${listOf(HOUR, hours)}`;
  return `cron(${times} ${daysOf(dayOfMonth, listOf(MONTH, month), dayOfWeek)} *)`;
}

function nicknamed(name: string): string {
  if (Object.hasOwn(NICKNAMES, name)) return NICKNAMES[name] as string;
  const known = Object.keys(NICKNAMES).join(", ");
  throw new RangeError(`expression must have one of the names ${known}, got ${JSON.stringify(name)}`);
}

/** If crontab(5) has both days, the job comes on either. EventBridge takes one of them only. */
function daysOf(dayOfMonth: string, month: string, dayOfWeek: string): string {
  const weekdays = weekdaysOf(dayOfWeek);
  if (weekdays === undefined) return `${listOf(DAY_OF_MONTH, dayOfMonth)} ${month} ?`;
  if (dayOfMonth === "*") return `? ${month} ${weekdays}`;
  throw new RangeError(
    "expression must have * for one of day-of-month and day-of-week, because EventBridge Scheduler takes only one of them: for either day make two schedules, for both days let the handler check the weekday, " +
      `got ${JSON.stringify(`${dayOfMonth} … ${dayOfWeek}`)}`,
  );
}

/** `undefined`: every day. */
function weekdaysOf(text: string): string | undefined {
  if (text === "*") return undefined;
  const values = new Set(
    text.split(",").flatMap((part) => valuesOf(DAY_OF_WEEK, part).map((day) => day % 7)),
  );
  const days = DAYS.map((_, day) => values.has(day));
  return runsOf(days)
    .map(([from, to]) => (from === to ? DAYS[from] : `${DAYS[from]}-${DAYS[to]}`))
    .join(",");
}

/** The first and the last index of each run of `true`. */
function runsOf(days: readonly boolean[]): [number, number][] {
  const runs: [number, number][] = [];
  for (const [day, isIn] of days.entries()) {
    const run = runs.at(-1);
    if (isIn && run?.[1] === day - 1) run[1] = day;
    else if (isIn) runs.push([day, day]);
  }
  return runs;
}

const listOf = (field: Field, text: string): string => eachPart(text, (part) => partOf(field, part));

/** "Schedule types in EventBridge Scheduler" shows a step from a first value only, so that a range with a step becomes a list. */
function partOf(field: Field, part: string): string {
  if (part === "*") return part;
  const values = valuesOf(field, part);
  const { from, to, step } = readPart(field, part);
  // A range is shorter than the list of its values.
  if (step === 1) return from === to ? String(from) : `${from}-${to}`;
  return to === field.highest && values.length > 1 ? `${from}/${step}` : values.join(",");
}

function valuesOf(field: Field, part: string): number[] {
  const { from, to, step } = readPart(field, part);
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => from + i * step);
}

function readPart(field: Field, part: string): { from: number; to: number; step: number } {
  const [, all, first, last, stepText] = /^(?:(\*)|(\w+)(?:-(\w+))?)(?:\/(\d{1,2}))?$/.exec(part) ?? [];
  if (all === undefined && first === undefined) throw fieldError(field, part);
  const step = stepText === undefined ? 1 : requireStep(field, stepText);
  // No step may come round to the second number of Sunday.
  const highest = field === DAY_OF_WEEK ? 6 : field.highest;
  if (first === undefined) return { from: field.lowest, to: highest, step };
  const from = numberOf(field, first);
  const to = last === undefined ? (stepText === undefined ? from : highest) : lastOf(field, last);
  if (from <= to) return { from, to, step };
  throw notAscending(field, part);
}

/** A range that ends with SUN ends with day 7. */
function lastOf(field: Field, text: string): number {
  return field === DAY_OF_WEEK && text.toUpperCase() === "SUN" ? 7 : numberOf(field, text);
}

function numberOf(field: Field, text: string): number {
  const value = /^\d{1,2}$/.test(text) ? Number(text) : namedValue(field, text.toUpperCase());
  if (!isInRange(field, value)) throw fieldError(field, text);
  return value;
}
