import type { JsonOf } from "../core/json-of.ts";
import type { ForecastJson } from "../http/answers/forecast.ts";
import type { JobJson, JobSummary as JobSummaryJson } from "../http/answers/jobs.ts";
import type { BulkPart, ErasePart, ExportPart as ExportPartJson } from "../http/answers/many-jobs.ts";
import type { PulledJob as PulledJobJson } from "../http/answers/pulled.ts";
import type { ScheduleJson } from "../http/answers/schedules.ts";
import type { TopicJson } from "../http/answers/topics.ts";
import type { TopicBodies } from "./check-bodies.ts";

export type TopicReport = TopicJson;

/** A job of the topic `T`, or of any topic. If you compare `topic` with a name, its `body` has the type of that topic. */
export type Job<Topics = TopicBodies, T extends keyof Topics & string = keyof Topics & string> = {
  [Name in T]: Omit<JobJson, "topic" | "body"> & { topic: Name; body: JsonOf<Topics[Name]> };
}[T];
export type JobState = JobJson["state"];
/** A job without its body and its timeline. */
export type JobSummary<T extends string = string> = Omit<JobSummaryJson, "topic"> & { topic: T };
export type PulledJob<Body = unknown> = PulledWith<JsonOf<Body>>;
// An interface, so that the compiler compares two pulled jobs by their bodies, and not by `Body` of `JsonOf`.
interface PulledWith<Body> extends Omit<PulledJobJson, "body"> {
  body: Body;
}
/** The pulled job after its run. Empty for an untracked job. */
export type SettledJob<Topics = TopicBodies, T extends keyof Topics & string = keyof Topics & string> = {
  [Name in T]: Partial<Job<Topics, Name>>;
}[T];
export type Schedule<Topics = TopicBodies, T extends keyof Topics & string = keyof Topics & string> = {
  [Name in T]: Omit<ScheduleJson, "topic" | "body"> & { topic: Name; body: JsonOf<Topics[Name]> };
}[T];
/** What one request has counted. `reached`: all jobs that are due before it are counted. `at`: the API's clock. */
export type CountPart = Required<Pick<ForecastJson, "minutes" | "counts" | "reached" | "at">>;

/** What one request of an export has read. `errors`: the jobs that cannot be read. `cursor`: the export goes on after this part; absent: it has ended. */
export type ExportPart<Topics = TopicBodies, T extends keyof Topics & string = keyof Topics & string> = Omit<
  ExportPartJson,
  "jobs"
> & { jobs: Job<Topics, T>[] };

/** The sums of a whole bulk, or of its parts so far. While parts are left, `cursor` continues the bulk. */
export type BulkResult = BulkPart;
/** The sums of a whole erase, or of its parts so far. `changed`: how many jobs are erased. While parts are left, `cursor` continues the erase. */
export type EraseResult = ErasePart;
