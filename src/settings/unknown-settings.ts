import { type Names, unknownNames } from "../general/unknown-names.ts";
import type {
  CancelSetting,
  EnqueueSetting,
  EventMatch,
  ExponentialSetting,
  IfLateSetting,
  PollersSetting,
  TopicSettings,
  WebhookSettings,
} from "./topic-settings.ts";

const MATCH: Names<EventMatch> = { source: true, detailType: true, key: true };

/** The names inside the settings that are objects. */
const INSIDE = {
  webhook: {
    ...{ url: true, timeout: true, allowHttp: true, allowHosts: true, onlyHosts: true, ports: true },
    ...{ sharedSecret: true, mostAttempts: true },
  } satisfies Names<WebhookSettings<unknown>>,
  pollers: { min: true, max: true } satisfies Names<PollersSetting>,
  ifLate: { after: true, do: true } satisfies Names<IfLateSetting<unknown>>,
  cancelOn: { ...MATCH, tombstone: true } satisfies Names<CancelSetting<unknown>>,
  enqueueOn: { ...MATCH, delay: true, body: true, onDuplicate: true, maxDelay: true } satisfies Names<
    EnqueueSetting<unknown>
  >,
} as const satisfies { readonly [Name in keyof TopicSettings<unknown>]: unknown };

const EXPONENTIAL = { initial: true, factor: true, max: true, jitter: true } satisfies Names<
  ExponentialSetting<unknown>
>;

/**
 * Answers one line for each unknown name in a topic's settings, and inside those that are objects.
 *
 * @param at the path of the topic, such as `topics.orders`
 * @param known the names that a topic may have
 */
export function unknownSettings(at: string, topic: object, known: readonly string[]): string[] {
  const inside = Object.entries(INSIDE).flatMap(([setting, names]) =>
    [(topic as Record<string, unknown>)[setting]]
      .flat()
      .flatMap((value) => unknownNames(`${at}.${setting}`, "setting", value, Object.keys(names))),
  );
  const { exponential } = Object((topic as TopicSettings<unknown>).backoff);
  const backoff = unknownNames(`${at}.backoff.exponential`, "setting", exponential, Object.keys(EXPONENTIAL));
  return [...unknownNames(at, "setting", topic, known), ...inside, ...backoff];
}
