/** What the page must know about its server. The server writes it into `index.html`. */
export type About = {
  /** The name of the queue that the page shows, such as a stack's name. */
  readonly queue: string;
  /** The URL of the API that the queue's producers call. Absent: the API has the page's own origin. */
  readonly url?: string;
  readonly auth: "none" | "iam" | "bearer";
  /** Whether the server streams the lines of the local stack's log. */
  readonly hasLive: boolean;
  /** Whether calls of the API need the key that the address of the page contains. */
  readonly needsKey: boolean;
};

export const CONSOLE_PATH = "/console";
/** The path at which the local stack streams the lines of its log, as server-sent events. */
export const LIVE_PATH = "/console/live/events";
/** The header with the key of the page's address. */
export const KEY_HEADER = "x-minutehand-key";
export const ABOUT_ID = "about";
