import type { Policy } from "./policy.ts";

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/** Says whether a URL's `hostname` is a name or a loopback address of this machine. */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK.includes(hostname) || /^127(?:\.\d+){3}$/.test(hostname);
}

/** Lets a policy's webhooks call this machine too, also by `http:`. For stacks that run on a developer's machine. */
export function allowLoopback(policy: Policy): Policy {
  const topics = Object.entries(policy.topics).map(([name, topic]) => {
    if (topic.webhook === undefined) return [name, topic] as const;
    const allowHosts = [...(topic.webhook.allowHosts ?? []), ...LOOPBACK];
    return [name, { ...topic, webhook: { ...topic.webhook, allowHttp: true, allowHosts } }] as const;
  });
  return { ...policy, topics: Object.fromEntries(topics) };
}
