/** The start of the names of a queue's resources, and the `service` of its logs, metrics and events. */
export const DEFAULT_PREFIX = "minutehand";
export const PREFIX = /^[A-Za-z0-9-]{1,24}$/;
export const PREFIX_RULE = "1 to 24 letters, digits and -";
