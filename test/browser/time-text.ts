/**
 * The source of a regular expression for a time as the page writes it. The page adds the date to a time of another day, so a test that
 * runs at midnight meets times with and without it.
 */
export const TIME = String.raw`(?:\d{1,2} [A-Z][a-z]+(?: \d{4})?, )?\d\d:\d\d:\d\d`;
