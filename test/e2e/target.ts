import type { Place } from "./places.ts";

/** How the API is reached. */
export type ApiAccess =
  /** Over HTTP, signed for IAM if a region is given. */
  | { readonly url: string; readonly signedFor?: string }
  /** No HTTP API is deployed: its app runs in this process, with the environment that its function would have. */
  | { readonly environment: Readonly<Record<string, string>> };

/** What the suite runs against; plain data, as it goes from the setup to the workers. */
export type Target = {
  readonly place: Place;
  readonly api: ApiAccess;
  /** Where the handler of `reminders` logs: a file, or a group of CloudWatch Logs. */
  readonly log: { readonly file: string } | { readonly group: string };
  /** Where Scheduler, Secrets Manager and EventBridge answer, unless the environment says so. */
  readonly services?: string;
  /** The schedule group of the schedules beside far jobs. */
  readonly promotions: string;
  /** The name or ARN of what signs the calls of `callbacks`. */
  readonly secret: string;
};
