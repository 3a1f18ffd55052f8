/** What CDK apps import as `minutehand/cdk`. */
export type { ConsumerOptions } from "./consumer.ts";
export { DelayQueue } from "./delay-queue.ts";
export type { HandlerOptions } from "./handler.ts";
export type {
  ApiProps,
  ApiScopes,
  AppDuration,
  CancelOn,
  DelayQueueProps,
  EnqueueOn,
  EventMatch,
  IfLateProps,
  ScheduleProps,
  TopicProps,
  WebhookTopicProps,
} from "./props.ts";
export type { TargetFunction, TargetOptions } from "./target.ts";
