import type { Policy } from "./policy.ts";

/** This machine's hosts, as a URL's `hostname` has them. */
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/** A policy whose webhooks may call this machine too, in the clear: for stacks that run on a developer's own. */
export function allowLoopback(policy: Policy): Policy {
  const topics = Object.entries(policy.topics).map(([name, topic]) => {
    if (topic.webhook === undefined) return [name, topic] as const;
    const allowHosts = [...(topic.webhook.allowHosts ?? []), ...LOOPBACK];
    return [name, { ...topic, webhook: { ...topic.webhook, allowHttp: true, allowHosts } }] as const;
  });
  return { ...policy, topics: Object.fromEntries(topics) };
}
