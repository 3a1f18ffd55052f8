/**
 * The descriptions of a deployed queue's outputs. The command line finds the outputs by their descriptions, because their names
 * depend on the id that the app gives the construct.
 */
export const API_OUTPUT = "Minutehand API";
export const TABLE_OUTPUT = "Minutehand table";
export const DASHBOARD_OUTPUT = "Minutehand dashboard";
