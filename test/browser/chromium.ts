/** The path of Debian's Chromium. `MINUTEHAND_CHROMIUM` names another Chromium. */
export const CHROMIUM = process.env.MINUTEHAND_CHROMIUM ?? "/usr/bin/chromium";
