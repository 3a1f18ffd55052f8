import { LATE_AFTER } from "../../src/core/constants.ts";
import { durationText } from "./times.ts";

export const WORDS = {
  ready: "Messages whose jobs are due. They wait until the consumer receives them.",
  delayed: "Messages that SQS already has. SQS delays each of them until its job is due.",
  "in flight": "Messages that the consumer has received and not yet finished.",
  "late p50 / p99, last hour":
    "How late the runs of the last hour started. Half of them were at most as late as the first time says, and 99 % at most as late as the second.",
  sweep: "The step that sends the jobs of the next minutes to SQS, once a minute.",
  scheduled: "The job waits until it is due.",
  held: "A pause, a limit or a window of the topic makes the job start later. On the overview: how many jobs a pause holds.",
  late: `The job should have started more than ${durationText(LATE_AFTER)} ago.`,
  retrying: "The last attempt has failed. The job waits for its next attempt.",
  running: "A consumer has started the job and not yet finished it.",
  done: "The job has run.",
  cancelled: "A caller or an event ended the job before a run succeeded.",
  dead: "All attempts of the job have failed, its consumer gave it up, or SQS refused its message. It waits until a person redrives it.",
  expired: "The job became later than its own rule or its topic's rule allows, so it did not run.",
  "handed-off": "The job's message is sent. Its topic is untracked, so nobody knows what followed.",
} as const;

export type Word = keyof typeof WORDS;
