/**
 * What a deployed queue's outputs are described by: that a stack is found by its name alone, whatever its author calls the
 * construct.
 */
export const API_OUTPUT = "Minutehand API";
export const TABLE_OUTPUT = "Minutehand table";
