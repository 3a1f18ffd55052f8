/** The path of the stack's clock at the API's port. API Gateway has no such route. */
export const CLOCK_PATH = "/_minutehand/clock";
