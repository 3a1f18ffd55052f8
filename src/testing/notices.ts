import { createNotifier } from "../environment/notices.ts";
import type { Context } from "../protocol/ports.ts";
import type { ProtocolEvent } from "../protocol/reports.ts";
import type { NOTICES, NoticeDetail } from "../settings/notices.ts";
import { STILL } from "./still-timers.ts";
import type { TestEvent } from "./test-queue.ts";

/** An event about a job of a topic with `notify`, as the deployed queue puts it on the event bus. */
export type JobEvent = TestEvent & {
  readonly detailType: (typeof NOTICES)[keyof typeof NOTICES];
  readonly detail: NoticeDetail;
};

/** The events about jobs, made by the code of the deployed queue. */
export type Notices = {
  readonly report: (event: ProtocolEvent) => void;
  /** Waits until the event of each end that was reported is in `events`. */
  readonly flush: () => Promise<void>;
  readonly events: readonly JobEvent[];
  /** Answers each event once: those that the topics' rules have not had. */
  readonly takeNew: () => readonly JobEvent[];
};

export function memoryNotices(ctx: Context, prefix: string): Notices {
  const events: JobEvent[] = [];
  let taken = 0;
  const put: Parameters<typeof createNotifier>[1]["put"] = async (entries) =>
    entries.map(({ Source: source, DetailType: detailType, Detail: detail }) => {
      events.push({ source, detailType, detail: JSON.parse(detail) } as JobEvent);
      return undefined;
    });
  const { note, flush } = createNotifier(ctx, { queue: prefix, name: "default", put }, STILL);
  return {
    report(event) {
      ctx.report(event);
      note(event);
    },
    flush: () => flush(),
    events,
    takeNew() {
      const some = events.slice(taken);
      taken = events.length;
      return some;
    },
  };
}
