/** A small deliberate defect: `find` stands once in the file and becomes `put`. */
export type Mutant = {
  name: string;
  /** From the root of the repository. */
  file: string;
  find: string;
  put: string;
  /** A second place in the same file. */
  and?: { find: string; put: string };
};

/** Rules of the protocol, each taken away once. The first ones are those of the holes that naive versions fall into. */
export const MUTANTS: readonly Mutant[] = [
  {
    name: "put without its condition",
    file: "aws/pool.ts",
    find: '...checkExpression("absent"),',
    put: "",
  },
  {
    name: "statement batch taken as applied whatever it answers",
    file: "aws/statements.ts",
    find: 'if (Code !== undefined && REFUSED.has(Code)) return "refused";',
    put: 'if (Code !== undefined && REFUSED.has(Code)) return "applied";',
  },
  {
    name: "look filed after the home",
    file: "protocol/move.ts",
    find: "  await fileLooks(ctx, [{ id: home.id, time: startsAt({ dueAt, ...hold }) }], by);\n",
    put: "",
    and: {
      find: "  const found = changed.item as Home | undefined;\n",
      put: "  const found = changed.item as Home | undefined;\n  await fileLooks(ctx, [{ id: home.id, time: dueAt }], by);\n",
    },
  },
  {
    name: "move into the past files its look there",
    file: "protocol/move.ts",
    find: "const dueAt = hold ? request.dueAt : Math.max(request.dueAt, now);",
    put: "const dueAt = request.dueAt;",
  },
  {
    name: "move without the revision",
    file: "protocol/move.ts",
    find: "expect: { ...request.expect, revision: home.revision },",
    put: "expect: { ...request.expect },",
  },
  {
    name: "move leaves expiresAt",
    file: "protocol/move.ts",
    find: '["token", "leaseEnd", "finishedAt", "expiresAt", ',
    put: '["token", "leaseEnd", "finishedAt", ',
  },
  {
    name: "move leaves the claim",
    file: "protocol/move.ts",
    find: '["token", "leaseEnd", "finishedAt", ',
    put: '["finishedAt", ',
  },
  {
    name: "clock not looked at after a move",
    file: "protocol/move.ts",
    find: "  await sendIfNear(ctx, [found]);\n",
    put: "",
  },
  {
    name: "clock not looked at after filing",
    file: "protocol/enqueue-plain.ts",
    find: "    await sendIfNear(ctx, stored);\n",
    put: "",
  },
  {
    name: "no deadline for writers",
    file: "aws/deadline.ts",
    find: "  if (now < by) return;",
    put: "  if (now < by || by > 0) return;",
  },
  {
    name: "claim without the revision",
    file: "protocol/claim.ts",
    find: '      expect: { revision: job.revision, state: "scheduled" },\n      set: {\n        state: "running"',
    put: '      expect: { state: "scheduled" },\n      set: {\n        state: "running"',
  },
  {
    name: "claim over a claim whose lease has ended",
    file: "protocol/claim.ts",
    find: "    } else if (hasCrashed(home, now)) crashed.push({ job, home });",
    put: `    } else if (hasCrashed(home, now)) {
      const over = await ctx.pool.change(
        { key: homeKey(job.id), expect: { revision: job.revision, state: "running", leaseEnd: home.leaseEnd }, set: { token: tokens.get(job.id) ?? "", leaseEnd, claimedAt } },
        claimedAt + WRITER_DEADLINE,
      );
      if (over.changed) verdicts.set(job.id, { verdict: "claimed", token: tokens.get(job.id) ?? "", leaseEnd, claimedAt });
    }`,
  },
  {
    name: "lease compared without a margin",
    file: "core/home.ts",
    find: 'return home.state === "running" && now < (home.leaseEnd ?? 0) + CLOCK_MARGIN;',
    put: 'return home.state === "running" && now < (home.leaseEnd ?? 0);',
  },
  {
    name: "lease recorded shorter than the run",
    file: "protocol/claim.ts",
    find: "        leaseEnd,\n        claimedAt,\n",
    put: "        leaseEnd: leaseEnd - 45_000,\n        claimedAt,\n",
  },
  {
    name: "a claim's token by what its message says",
    file: "protocol/claim.ts",
    find: "new Map(runnable.map((job) => [job.id, drawToken(ctx.random)]))",
    put: "new Map(runnable.map((job) => [job.id, job.id + job.revision]))",
  },
  {
    name: "a claim's repeat does not know its own token",
    file: "protocol/claim.ts",
    find: 'else if (home.state === "running" && home.token === tokens.get(job.id)) {',
    put: 'else if (home.state === "running" && home.token === "nobody") {',
  },
  {
    name: "stale message does not send the revision that waits",
    file: "protocol/claim.ts",
    find: 'if (home.state === "scheduled" && isNear(startsAt(home), now)) waiting.push(home);',
    put: "",
  },
  {
    name: "crashed run never settled by a claim",
    file: "protocol/claim.ts",
    find: "else if (hasCrashed(home, now)) crashed.push({ job, home });",
    put: 'else if (hasCrashed(home, now)) drop(job, "crashed");',
  },
  {
    name: "settle without the token",
    file: "protocol/settle.ts",
    find: '      expect: { token, state: "running" },\n      set: { state: "done"',
    put: '      expect: { state: "running" },\n      set: { state: "done"',
  },
  {
    name: "dead marked before the envelope",
    file: "protocol/die.ts",
    find: "  if (death.envelope !== false) {",
    put: "  const envelope = async (): Promise<void> => {\n    if (death.envelope === false) return;",
    and: {
      find: "  const found = changed.item as Home | undefined;\n",
      put: "  await envelope();\n  const found = changed.item as Home | undefined;\n",
    },
  },
  {
    name: "redrive deletes what is not dead yet",
    file: "protocol/dead-letters.ts",
    find: 'return isFinished(home) && home.state !== "dead";',
    put: 'return home.state !== "dead";',
  },
  {
    name: "SQS's own redrive: an envelope is void",
    file: "sdk/open-messages.ts",
    find: "      if (!(await redriveEnvelope(ctx, message))) kept.add(delivery.messageId);\n",
    put: "",
  },
  {
    name: "key taken without checking its holder",
    file: "protocol/enqueue-keyed.ts",
    find: '    const expect = holder ? { state: holder.state, revision: holder.revision } : "absent";\n    writes.push({ check: { key: homeKey(item.id), expect } });',
    put: "",
  },
  {
    name: "one refused job takes its pack mates with it",
    file: "protocol/send.ts",
    find: 'sent.outcome === "refused" && pack.homes.length > 1',
    put: 'sent.outcome === "refused" && pack.homes.length > 10',
  },
  {
    name: "an envelope of a job that cannot be redriven dropped",
    file: "protocol/redrive-envelope.ts",
    find: "if (!(await redriveJob(ctx, home, ctx.clock())) && !(await putBack(ctx, home))) return false;",
    put: "await redriveJob(ctx, home, ctx.clock());",
  },
  {
    name: "redrive without its key",
    file: "protocol/redrive.ts",
    find: "    ...(together ? { together: [together] } : {}),\n",
    put: "",
  },
  {
    name: "keys of crashed processes left",
    file: "protocol/audit.ts",
    find: "    await releaseLeftKeys(ctx, finished, ctx.clock() + WRITER_DEADLINE);\n",
    put: "",
  },
  {
    name: "no once item",
    file: "protocol/enqueue-once.ts",
    find: "  const outcome = await ctx.pool.transact([{ insert: home }, nameOnce(home)], by);",
    put: "  const outcome = await ctx.pool.transact([{ insert: home }], by);",
  },
  {
    name: "once item goes when its job is done",
    file: "protocol/enqueue-once.ts",
    find: "if (stored && !isOver(stored, ctx.clock())) return replay(ctx, stored, once.hash, home);",
    put: 'if (stored && (await readHomes(ctx, [stored.id]))[0]?.state === "scheduled") return replay(ctx, stored, once.hash, home);',
  },
  {
    name: "cursor advanced before the send",
    file: "protocol/sweep.ts",
    find: "    const unsent = await handOver(ctx, page.entries, limit);",
    put: '    position = page.position;\n    if (page.entries.length > 0 && !(await mark())) return "overtaken";\n    const unsent = await handOver(ctx, page.entries, limit);',
  },
  {
    name: "cursor advanced to the clock, not to the limit",
    file: "protocol/sweep.ts",
    find: "    const trail = trailAfter(cursor.trail, { position, reachedAt: ctx.clock() }, TRAIL_STEP);",
    put: "    if (position === sortable(limit)) position = sortable(ctx.clock() + LOOKAHEAD);\n    const trail = trailAfter(cursor.trail, { position, reachedAt: ctx.clock() }, TRAIL_STEP);",
  },
  {
    name: "a page cut short",
    file: "protocol/pages.ts",
    find: "const reached = next ?? end;",
    put: "const reached = end;\n        if (next !== undefined) page = { ...page, more: false };",
  },
  {
    name: "the last entry of a page not looked at",
    file: "protocol/sweep.ts",
    find: 'const due = entries.filter(({ home }) => home?.state === "scheduled" && isToSend(home, limit, now));',
    put: 'const due = entries.slice(0, -1).filter(({ home }) => home?.state === "scheduled" && isToSend(home, limit, now));',
  },
  {
    name: "looks that TTL removes half an hour past their time",
    file: "core/constants.ts",
    find: "export const STALE_AFTER = 90 * DAY;",
    put: "export const STALE_AFTER = DAY / 48;",
  },
  {
    name: "TTL in ms",
    file: "core/items.ts",
    find: "return Math.ceil(time / 1000);",
    put: "return Math.ceil(time);",
  },
  {
    name: "due at half the delay",
    file: "http/new-job.ts",
    find: "now + delay",
    put: "now + delay / 2",
  },
  {
    name: "another body stored than asked for",
    file: "http/new-job.ts",
    find: "  if (bytes <= BODY_BYTES) return text;",
    put: '  if (bytes <= BODY_BYTES) return "1";',
  },
  {
    name: "every message sent twice",
    file: "protocol/send.ts",
    find: "  const sent = await ctx.queues.send({ topic }, messages);",
    put: "  await ctx.queues.send({ topic }, messages);\n  const sent = await ctx.queues.send({ topic }, messages);",
  },
  {
    name: "homes read at each settle",
    file: "protocol/settle.ts",
    find: '  const refused = held.filter((_, i) => outcomes[i] === "refused");',
    put: '  for (const { id } of held) for (let i = 0; i < 2; i++) await readHomes(ctx, [id]);\n  const refused = held.filter((_, i) => outcomes[i] === "refused");',
  },
  {
    name: "no audit",
    file: "protocol/audit.ts",
    find: "    found += await repair(ctx, live, backlogs);\n",
    put: "",
  },
  {
    name: "audit's new look omitted",
    file: "protocol/audit.ts",
    find: "  await fileLooks(ctx, looks, now + WRITER_DEADLINE);\n",
    put: "",
  },
  {
    name: "audit's cursor before its looks",
    file: "protocol/audit.ts",
    find: "    found += await repair(ctx, live, backlogs);\n",
    put: '    const ahead = await advance(ctx, cursor, "audited", page.position);\n    if (!ahead) break;\n    cursor = ahead;\n    found += await repair(ctx, live, backlogs);\n',
  },
  {
    name: "audit does not trail",
    file: "protocol/audit.ts",
    find: "reachedBy(cursor.trail, ctx.clock() - AUDIT_AFTER)",
    put: "reachedBy(cursor.trail, ctx.clock())",
  },
  {
    name: "audit trails by one minute",
    file: "protocol/audit.ts",
    find: "reachedBy(cursor.trail, ctx.clock() - AUDIT_AFTER)",
    put: "reachedBy(cursor.trail, ctx.clock() - AUDIT_AFTER / 10)",
  },
  {
    name: "audit passes a running job without a look",
    file: "protocol/audit.ts",
    find: "      looks.push({ id: home.id, time: (home.leaseEnd ?? now) + CLOCK_MARGIN });\n",
    put: "",
  },
  {
    name: "new shard's cursors start at the sweep's limit",
    file: "protocol/shards.ts",
    find: "sortable(meta ? now - AUDIT_AFTER :",
    put: "sortable(meta ? now + 180_000 :",
  },
  {
    name: "meta raised before the new cursors",
    file: "protocol/shards.ts",
    find: "  for (const outcome of await ctx.pool.insert(cursors, by)) if (outcome instanceof Error) throw outcome;\n  if (meta) {",
    put: "  if (!meta) for (const outcome of await ctx.pool.insert(cursors, by)) if (outcome instanceof Error) throw outcome;\n  if (meta) {",
  },
  {
    name: "a message's jobs not held until they are due",
    file: "sdk/run-jobs.ts",
    find: "    const early = startOf(job) - ctx.clock();\n    if (ctx.clock() >= lastStart)",
    put: "    const early = 0;\n    if (ctx.clock() >= lastStart)",
    and: {
      find: "one.topic !== topic || startOf(one.job) > now);",
      put: "one.topic !== topic || now < 0);",
    },
  },
  {
    name: "three seconds of delay too many",
    file: "core/packs.ts",
    find: 'if (precision === "second") return Math.ceil(left / 1000);',
    put: 'if (precision === "second") return Math.ceil(left / 1000) + 3;',
  },
  {
    name: "cancel over a running claim",
    file: "protocol/cancel.ts",
    find: 'expect: { state: "scheduled", untracked: undefined, key: undefined },',
    put: "expect: { untracked: undefined, key: undefined },",
  },
  {
    name: "a pulled job handed out past its lease",
    file: "protocol/pull.ts",
    find: "untracked || ctx.clock() < leaseUntil",
    put: "true",
  },
  {
    name: "unprocessed keys taken as absent",
    file: "aws/read.ts",
    find: "pending = output.UnprocessedKeys?.[table]?.Keys ?? [];",
    put: "pending = [];",
  },
  {
    name: "an undecided statement taken as applied",
    file: "aws/statements.ts",
    find: "if (result === undefined) undecided.push(index);",
    put: 'if (result === undefined) results[index] = "applied";',
  },
  {
    name: "a message SQS failed taken as sent",
    file: "aws/send.ts",
    find: 'if (entry === undefined) return { sent: { outcome: "sent" } };',
    put: 'if (entry === undefined || index > -1) return { sent: { outcome: "sent" } };',
  },
  {
    name: "a near untracked job acknowledged before SQS has it",
    file: "protocol/enqueue-plain.ts",
    find: 'if (sent.outcome !== "sent") refused.set(id, unavailable(new Error(sent.reason)));',
    put: "",
  },
  {
    name: "audit passes a held job without a look",
    file: "protocol/audit.ts",
    find: "    looks.push({ id: home.id, time: lookAgainAt(",
    put: "    if (!isHeld) looks.push({ id: home.id, time: lookAgainAt(",
  },
  {
    name: "a parked job not noted",
    file: "protocol/park.ts",
    find: "  for (const outcome of await ctx.pool.insert(notes, by)) if (outcome instanceof Error) throw outcome;\n",
    put: "",
  },
  {
    name: "a resume at a rate over while there is the rate",
    file: "protocol/tend-pauses.ts",
    find: "    rate === undefined\n      ?",
    put: "    changedAt > 0\n      ?",
  },
  {
    name: "claim does not heed a pause",
    file: "protocol/claim.ts",
    find: "const parked = await parkCarried(ctx, topic, jobs);",
    put: "const parked = new Set<string>();",
  },
  {
    name: "receive does not heed a pause",
    file: "protocol/pull.ts",
    find: 'if (policy.tracking === "none" && messages.length > 0 && (await isPaused(ctx, topic))) {',
    put: 'if (policy.tracking === "none" && messages.length > 10 && (await isPaused(ctx, topic))) {',
    and: {
      find: "    if (await isPaused(ctx, topic)) {\n      if (waitSeconds === 0) return [];",
      put: "    if (started < 0) {\n      if (waitSeconds === 0) return [];",
    },
  },
  {
    name: "a paused topic holds its shard's cursor",
    file: "protocol/sweep.ts",
    find: "  return stopAt === entries.length ? undefined :",
    put: '  if ([...outcomes.values()].some(({ outcome }) => outcome === "held")) return { before: entries[0]?.before ?? "" };\n  return stopAt === entries.length ? undefined :',
  },
  {
    name: "Lambda never let to a resumed topic's queue again",
    file: "protocol/pause.ts",
    find: "await ctx.eventSources?.enable(topic, enabled);",
    put: "if (!enabled) await ctx.eventSources?.enable(topic, enabled);",
  },
  {
    name: "a resume ended before Lambda polls",
    file: "protocol/tend-pauses.ts",
    find: "  if (!(await pollQueue(ctx, topic, true))) return;\n",
    put: "",
  },
  {
    name: "a hold without its look",
    file: "protocol/hold.ts",
    find: "  await fileLooks(\n    ctx,\n    holds.map(({ home, until }) => ({ id: home.id, time: until })),\n    by,\n  );\n",
    put: "",
  },
  {
    name: "a held job's start not heeded",
    file: "core/message.ts",
    find: "return Math.max(Date.parse(dueAt), Date.parse(heldUntil));",
    put: "return Date.parse(heldUntil && dueAt);",
  },
  {
    name: "direct jobs past their topic's limit",
    file: "protocol/enqueue-plain.ts",
    find: "const holds = await book(ctx, topic, jobs);",
    put: "const holds: Awaited<ReturnType<typeof book>> = [];",
  },
  {
    name: "hand-off past its topic's limit",
    file: "protocol/limit.ts",
    find: "const holds = await book(ctx, topic, free);",
    put: "const holds = free.map((home) => ({ home, from: home.dueAt, until: home.dueAt }));",
  },
  {
    name: "starts that others booked not counted",
    file: "protocol/book-starts.ts",
    find: "const count = counted[counterOf(begin)] ?? 0;",
    put: "const count = places.length;",
  },
  {
    name: "a second start for what has one",
    file: "protocol/limit.ts",
    find: 'state === "scheduled" && (heldUntil === undefined || missed.has(id));',
    put: 'state === "scheduled" && (heldUntil !== 0 || missed.has(id));',
  },
  {
    name: "webhook-id by attempt",
    file: "webhook/run.ts",
    find: "const id = callId(job);",
    put: 'const id = [job.id, job.attempt].join("-");',
  },
  {
    name: "webhook-id the same after a redrive",
    file: "webhook/run.ts",
    find: "const id = callId(job);",
    put: "const id = job.id;",
  },
  {
    name: "a redirect taken as done",
    file: "webhook/outcome.ts",
    find: 'if (status >= 200 && status < 300) return { end: "done" };',
    put: 'if (status >= 200 && status < 400) return { end: "done" };',
  },
  {
    name: "a job's own callbackUrl not heeded",
    file: "webhook/run.ts",
    find: "const url = job.callbackUrl ?? policy.url;",
    put: "const url = policy.url;",
  },
  {
    name: "an occurrence without its once item",
    file: "protocol/recurring.ts",
    find: 'dueAt: time, once: { token, hash: "occurrence" } });',
    put: "dueAt: time, ...(token ? {} : { once: undefined }) });",
  },
  {
    name: "every occurrence of a year named the same",
    file: "protocol/recurring.ts",
    find: ".toISOString()}`;",
    put: ".toISOString().slice(0, 4)}`;",
  },
  {
    name: "schedules of jobs stay when they have fired",
    file: "aws/promotions.ts",
    find: '        ActionAfterCompletion: "DELETE" as const,\n',
    put: "",
  },
];
