/** The path of the stack's clock at the API's port. API Gateway has no such route. */
export const CLOCK_PATH = "/_minutehand/clock";
/** The longest move in ms, 366 days: the clock never goes back, so a slip of the keyboard must not cost the data folder. */
export const LONGEST_MOVE = 366 * 86_400_000;
