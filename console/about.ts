/** What the page must know about its queue. The local stack writes it into `index.html`. */
export type About = {
  /** The name of the queue that the page shows, such as a stack's name. */
  readonly queue: string;
  /** The URL of the API that the queue's producers call. Absent: the API has the page's own origin. */
  readonly url?: string;
  readonly auth: "none" | "iam" | "bearer";
  /** Whether the server streams the lines of the local stack's log. */
  readonly hasLive: boolean;
  /** Whether the server refuses each change. Default: it does not. */
  readonly isViewOnly?: boolean;
};

/**
 * What `index.html` says instead, if calls need the key that the address of the page contains: the page must ask with its key. Every user of
 * the machine can read `index.html`, and may not learn which queue it is.
 */
export const ASK = "ask";

export const CONSOLE_PATH = "/console";
/** The path at which the local stack streams the lines of its log, as server-sent events. */
export const LIVE_PATH = "/console/live/events";
/** The path at which the server says what the runs of each topic were like. */
export const HISTORY_PATH = "/console/history";
/** The path at which the page reads the log of a job: `?job=ID`. */
export const LOGS_PATH = "/console/logs";
/** The path at which the page asks with its key what it must know about its queue. */
export const ABOUT_PATH = "/console/about";
/** The path at which the page starts and watches actions on many jobs, which the server carries on. */
export const ACTIONS_PATH = "/console/actions";
/** The header with the key of the page's address. */
export const KEY_HEADER = "x-minutehand-key";
export const ABOUT_ID = "about";
