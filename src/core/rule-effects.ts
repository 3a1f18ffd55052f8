/** What a rule of a topic did with an event. */
export type Applied =
  /** Of `enqueueOn`. `replayed`: the event had its effect already. `id`: the job's; absent if the job is not stored any more. */
  | { readonly did: "created" | "kept" | "replaced" | "postponed" | "replayed"; readonly id?: string }
  /** Of `enqueueOn`, after an event that cancels, and of `cancelOn`. */
  | { readonly did: "cancelled"; readonly id: string }
  /** Of `cancelOn`. The job runs, and does not run again. */
  | { readonly did: "cancelling"; readonly id: string }
  /** Of `cancelOn`. `until`: jobs that are filed under the key before this time are cancelled. Absent: none is. */
  | { readonly did: "no-job"; readonly until?: number }
  /** Of `cancelOn`: this event, or a later one, had its effect already. */
  | { readonly did: "nothing" }
  /** Of `enqueueOn`: a job with the key runs, so the event is applied later. */
  | { readonly did: "waits" }
  /** It could not use the event, which comes again. */
  | { readonly did: "failed"; readonly error: string };

export type RuleEffect = { readonly topic: string; readonly rule: "enqueueOn" | "cancelOn" } & Applied;
