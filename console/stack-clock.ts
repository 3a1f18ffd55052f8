/** What the page needs to read and to move the clock of the local stack. */
export { CLOCK_PATH } from "../local/clock-path.ts";
export { aheadText } from "../local/clock-words.ts";
