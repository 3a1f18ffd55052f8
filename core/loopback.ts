import type { Policy } from "./policy.ts";

/** What this machine is usually called, as a URL's `hostname` has it. */
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/** Whether a URL's `hostname` is this machine's, by whichever of its addresses. */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK.includes(hostname) || /^127(?:\.\d+){3}$/.test(hostname);
}

/** A policy whose webhooks may call this machine too, in the clear: for stacks that run on a developer's own. */
export function allowLoopback(policy: Policy): Policy {
  const topics = Object.entries(policy.topics).map(([name, topic]) => {
    if (topic.webhook === undefined) return [name, topic] as const;
    const allowHosts = [...(topic.webhook.allowHosts ?? []), ...LOOPBACK];
    return [name, { ...topic, webhook: { ...topic.webhook, allowHttp: true, allowHosts } }] as const;
  });
  return { ...policy, topics: Object.fromEntries(topics) };
}
