import type { Home } from "../../src/core/home.ts";
import type { Answer } from "./api.ts";
import type { World } from "./world.ts";

/** One call of a user about a key. `body`: the text of the job's body, which no other call has. `from`: when the call began. */
export type KeyCall = {
  readonly verb: "enqueue" | "cancel";
  readonly topic: string;
  readonly key: string | undefined;
  readonly body?: string;
  readonly token?: string | undefined;
  /** The due time that it asks for, if that has passed for each process. */
  readonly past?: number | undefined;
  readonly from: number;
};

/** When a job lived the last time: since its first home or its redrive, and up to its end. `to` is absent while it lives. */
type Life = { readonly key: string; since: number; to?: number };

export type KeysJudge = ReturnType<typeof judgeKeys>;

const nothingKnown = () => ({
  homes: new Map<string, Home>(),
  lives: new Map<string, Life>(),
  effects: new Map<string, string[]>(),
  cancelled: new Set<string>(),
  asked: new Set<string>(),
  repeatable: new Set<string>(),
  byToken: new Map<string, Set<string>>(),
  /** The past times that calls have asked for, by the bodies. */
  pasts: new Map<string, number>(),
});
type Known = ReturnType<typeof nothingKnown>;

/** Knows the stored jobs at each moment and the answers, and nothing of how the protocol keeps its promises. */
export function judgeKeys(world: World) {
  const known = nothingKnown();
  const { homes, asked, repeatable } = known;
  world.onHome.push((home) => judgeHome(world, known, home));
  return {
    ids: () => [...homes.keys()],
    /** Says that a call begins. It may take effect and never answer. */
    began({ verb, topic, key, body = "", token, past }: KeyCall): void {
      if (past !== undefined) known.pasts.set(body, past);
      if (verb === "cancel") asked.add(`${topic}/${key}`);
      if (token !== undefined) repeatable.add(body);
    },
    answered: (call: KeyCall, answer: Answer): void => judgeAnswer(world, known, call, answer),
    atEnd: (): void => judgeEnd(world, known),
  };
}

/** A home was written: its key must name no other live job. */
function judgeHome(
  { accuse, timeline }: World,
  { homes, lives, effects, cancelled, pasts }: Known,
  home: Home,
): void {
  const { id, body, revision, state } = home;
  const isNew = homes.get(id)?.body !== body;
  const past = pasts.get(body) ?? home.wantedAt;
  if (isNew && home.wantedAt !== past)
    accuse(`${id} was asked for ${past}, and is late since ${home.wantedAt}`);
  if (isNew) effects.set(body, [...(effects.get(body) ?? []), `${id} revision ${revision}`]);
  homes.set(id, home);
  const life = lives.get(id) ?? { key: `${home.topic}/${home.key ?? id}`, since: timeline.now() };
  lives.set(id, life);
  if (!isLive(home)) {
    life.to ??= timeline.now();
    return;
  }
  if (life.to !== undefined) life.since = timeline.now();
  delete life.to;
  const mates = [...lives].filter(([, { key, to }]) => key === life.key && to === undefined);
  if (mates.length > 1) accuse(`key ${life.key} has two live jobs: ${mates.map(([mate]) => mate)}`);
  if (state === "running" && cancelled.has(id)) accuse(`${id} runs after its cancel was acknowledged`);
}

function judgeAnswer(world: World, known: Known, call: KeyCall, answer: Answer): void {
  const { accuse, count, hasFaults } = world;
  const { lives } = known;
  const { verb, topic, key, from } = call;
  const { status, code, json } = answer;
  count(`${verb} ${code ?? json.outcome ?? status}`);
  if (status < 300) judgeSuccess(world, known, call, answer);
  else if (![404, 409, 503].includes(status)) accuse(`${verb} answered ${status} ${code}: ${json.detail}`);
  if (code === "unavailable" && !hasFaults) accuse(`${verb} answered 503 without a fault`);
  if (code === "job-already-exists" && (lives.get(String(json.id))?.to ?? from) < from)
    accuse(`refused for ${json.id}, which had ended before the call`);
  if (code !== "job-not-found" && code !== "job-finished") return;
  const holder = [...lives].find(([, life]) => life.key === `${topic}/${key}` && life.to === undefined);
  if (holder && holder[1].since < from)
    accuse(`${verb} answered ${code}, but ${holder[0]} lived all the time`);
}

function judgeSuccess(
  { accuse }: World,
  { lives, cancelled, effects, byToken }: Known,
  { verb, body = "", token }: KeyCall,
  { json }: Answer,
): void {
  const [id, outcome] = [String(json.id), json.outcome];
  if (!lives.has(id)) accuse(`${verb} answered with ${id}, which is not stored`);
  if (verb === "cancel") cancelled.add(id);
  if ((outcome === "created" || outcome === "replaced") && !effects.has(body))
    accuse(`${outcome} ${id}, but its body ${body} was never stored`);
  if (token === undefined) return;
  const named = (byToken.get(token) ?? new Set()).add(id);
  byToken.set(token, named);
  if (named.size > 1) accuse(`Idempotency-Key ${token} names ${[...named]}`);
}

function judgeEnd({ accuse }: World, { homes, asked, effects, repeatable }: Known): void {
  for (const home of homes.values()) {
    const { id, state, key, topic } = home;
    if (isLive(home)) accuse(`${id} has not ended: it is ${state}`);
    if (state === "cancelled" && !asked.has(`${topic}/${key}`))
      accuse(`${id} was cancelled, but no call asked for it`);
  }
  // Without an Idempotency-Key, a call that loses the answer to its own write may act a second time on what it finds then.
  for (const [body, revisions] of effects)
    if (revisions.length > 1 && repeatable.has(body))
      accuse(`one call, ${revisions.length} effects: ${body} in ${revisions}`);
}

function isLive({ state }: Home): boolean {
  return state === "scheduled" || state === "running";
}
