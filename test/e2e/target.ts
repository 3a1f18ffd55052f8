import type { Place } from "./places.ts";

export type ApiAccess =
  /** Over HTTP, signed for IAM if a region is given. */
  | { readonly url: string; readonly signedFor?: string }
  /** No HTTP API is deployed. The API's app runs in this process, with the environment that its function would have. */
  | { readonly environment: Readonly<Record<string, string>> };

/** The stack that the suite runs against. It is plain data, because Vitest sends it from the setup to the workers. */
export type Target = {
  readonly place: Place;
  readonly api: ApiAccess;
  /** Where the handler of `reminders` logs: a file, or a group of CloudWatch Logs. */
  readonly log: { readonly file: string } | { readonly group: string };
  /** The endpoint of Scheduler, Secrets Manager and EventBridge. Absent: the SDK finds the endpoints itself. */
  readonly services?: string;
  /** The schedule group that holds the promotions of far jobs. */
  readonly promotions: string;
  /** The name or ARN of the secret that signs the calls of the topic `callbacks`. */
  readonly secret: string;
};
