/**
 * The field of an invocation's context with a signal that is aborted when the caller of the API has hung up. Only the local stack sets it: on AWS a
 * function cannot see that.
 */
export const CALLER_GONE = Symbol.for("minutehand.callerGone");
