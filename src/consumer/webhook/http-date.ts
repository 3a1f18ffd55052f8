const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const TIME = String.raw`(?<hours>\d\d):(?<minutes>\d\d):(?<seconds>\d\d)`;
/** "Date/Time Formats", RFC 9110: the present form, and the two older ones that a recipient must accept. */
const FORMS = [
  // Sun, 06 Nov 1994 08:49:37 GMT
  new RegExp(`^[A-Z][a-z]{2}, (?<day>\\d\\d) (?<month>[A-Z][a-z]{2}) (?<year>\\d{4}) ${TIME} GMT$`),
  // Sunday, 06-Nov-94 08:49:37 GMT
  new RegExp(`^[A-Z][a-z]{5,8}, (?<day>\\d\\d)-(?<month>[A-Z][a-z]{2})-(?<year>\\d\\d) ${TIME} GMT$`),
  // Sun Nov  6 08:49:37 1994
  new RegExp(`^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})$`),
];
/** A year of two digits that would lie further ahead belongs to the last century, says RFC 9110. */
const YEARS_AHEAD = 50;

/** Reads a date of an HTTP header. Answers ms since the epoch, or `undefined` if the text is no such date. `now`: ms since the epoch. */
export function parseHttpDate(text: string, now: number): number | undefined {
  const parts = FORMS.map((form) => form.exec(text)?.groups).find((found) => found !== undefined);
  if (!parts) return undefined;
  const [day, hours, minutes, seconds] = [parts.day, parts.hours, parts.minutes, parts.seconds].map(
    Number,
  ) as [number, number, number, number];
  const month = MONTHS.indexOf(parts.month ?? "");
  const year = fullYear(parts.year ?? "", new Date(now).getUTCFullYear());
  // A minute may have a leap second.
  if (month === -1 || hours > 23 || minutes > 59 || seconds > 60) return undefined;
  const midnight = new Date(Date.UTC(year, month, day));
  if (midnight.getUTCDate() !== day) return undefined;
  return midnight.getTime() + ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

function fullYear(digits: string, present: number): number {
  if (digits.length === 4) return Number(digits);
  const year = present - (present % 100) + Number(digits);
  return year > present + YEARS_AHEAD ? year - 100 : year;
}
