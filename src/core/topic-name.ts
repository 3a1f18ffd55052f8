/** A topic's name stands in a queue's name and in a URL. */
export const TOPIC_NAME = /^[a-z0-9-]{1,50}$/;
export const TOPIC_NAME_RULE = "1 to 50 characters of a-z, 0-9 and -";
