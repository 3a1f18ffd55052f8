import { mustRefuse, type Wish } from "./answers.ts";
import { dismiss, REDRIVE_STEPS } from "./menders.ts";
import type { Answer } from "./platform.ts";
import type { Headers } from "./requests.ts";
import { pickFrom } from "./stretch.ts";
import type { drawTime, User } from "./user.ts";
import type { Told } from "./witness/bench.ts";

/** Seconds: over before a redrive has moved the jobs. */
const SOON = 0.01;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const WAITS = [2 * SECOND, 4 * MINUTE, 10 * MINUTE];
export const CHANGES = ["cancel", "cancel many", "move", "edit", "replace", "redrive"];

type When = ReturnType<typeof drawTime>;

export async function change(user: User, id: string, what: string, when: When): Promise<void> {
  const { world, tracked, bodyNow, key } = user;
  if (!tracked) return mustRefuse(world, what, await askForbidden(user, id, what, when));
  if (what === "cancel") await cancel(user, id, when);
  else if (what === "cancel many") await cancelMany(user, id);
  else if (what === "move") await patch(user, id, when);
  else if (what === "edit") await patch(user, id, { body: bodyNow() });
  else if (what === "replace" && key !== undefined) await replace(user, key, when);
  else if (what === "redrive") await redrive(user, id);
}

/** Says in the query of a call why the user makes it, so that the witness knows the call by its reason. */
function reasonOf(user: User): string {
  return `?reason=${user.n}:${user.reasons++}`;
}

/** Some calls name the job as the user saw it, and say why. Others only say why, or neither. `isKeyed`: the call names no id. */
function asSeen(user: User, isKeyed = false): { query: string; headers: Headers } {
  const { asking, seen } = user;
  if (!asking.chance(0.6)) return { query: "", headers: {} };
  const query = reasonOf(user);
  if (!seen || !asking.chance(0.6)) return { query, headers: {} };
  const isShort = !isKeyed && !user.direct && asking.chance(0.3);
  const tag = isShort ? `${seen.revision}` : `${seen.id}.${seen.revision}`;
  return { query, headers: { "if-match": `"${tag}"` } };
}

/** After a refusal because the job was changed meanwhile, most users take the job as it is now. */
function look(user: User, answer: Answer | undefined): void {
  const { id, revision, code } = (answer?.body ?? {}) as Partial<Told> & { code?: string };
  const isTold = answer && (answer.status < 300 || (code === "changed-meanwhile" && user.asking.chance(0.7)));
  if (isTold && id !== undefined && revision !== undefined) user.seen = { id, revision };
}

async function cancel(user: User, id: string, when: When): Promise<void> {
  const { witness } = user.world;
  const { query, headers } = asSeen(user);
  const over = witness.cancelAsked(id);
  const answer = await user.caller("DELETE", `/jobs/${id}${query}`, {}, headers);
  over();
  look(user, answer);
  if (answer?.status === 200) witness.cancelled(answer.body as unknown as Told);
  // Without an answer the user may ask for something else while the first request is still on its way.
  if (!answer && user.own.chance(0.7)) await patch(user, id, when);
}

async function cancelMany(user: User, id: string): Promise<void> {
  const { witness } = user.world;
  const over = witness.cancelAsked(id);
  const answer = await user.api("POST", `/jobs/cancel${reasonOf(user)}`, { ids: [id] });
  over();
  const [result] = (answer?.body.results ?? []) as { status: number; job?: Told }[];
  if (result?.status === 200 && result.job) witness.cancelled(result.job);
}

async function replace(user: User, key: string, when: When): Promise<void> {
  const { world, api, topic, note, usualSpread } = user;
  const wish = { body: user.bodyNow(), ...when };
  const sentAt = world.timeline.now();
  const { query, headers } = asSeen(user, true);
  const answer = await api("PUT", `/topics/${topic}/jobs/${key}${query}`, wish, headers);
  look(user, answer);
  note(answer, wish, sentAt, { changed: true, spread: usualSpread });
}

async function redrive(user: User, id: string): Promise<void> {
  const { world, api, draws, asking, topic } = user;
  world.counts.requests += REDRIVE_STEPS;
  const which = draws.chance(0.5) ? { ids: [id] } : { max: 10 };
  const usual = draws.pick([0, 60, 600]);
  const delay = asking.chance(0.4) ? SOON : usual;
  const { query, headers } = which.ids ? asSeen(user) : { query: reasonOf(user), headers: {} };
  const redriven = api("POST", `/topics/${topic}/redrive${query}`, { ...which, delay }, headers);
  const own = world.draws(`dismissal ${user.n} ${id}`);
  if (own.chance(0.2)) await dismiss(world, api, topic, id, reasonOf(user));
  look(user, await redriven);
}

async function askForbidden(user: User, id: string, what: string, when: When): Promise<Answer | undefined> {
  const { api, caller, topic, bodyNow } = user;
  switch (what) {
    case "cancel":
      return caller("DELETE", `/jobs/${id}`);
    case "cancel many": {
      const answer = await api("POST", "/jobs/cancel", { ids: [id] });
      const [result] = (answer?.body.results ?? []) as { status: number; error?: Answer["body"] }[];
      return result?.error ? { status: result.status, body: result.error } : answer;
    }
    case "redrive":
      return api("POST", `/topics/${topic}/redrive`, { ids: [id] });
    case "replace":
      return api("PUT", `/topics/${topic}/jobs/a`, { body: bodyNow(), ...when });
    default:
      return caller("PATCH", `/jobs/${id}`, what === "edit" ? { body: bodyNow() } : when);
  }
}

/** Moves or edits the job. With a token, some users repeat the call, perhaps after another change. */
async function patch(user: User, id: string, wish: Wish): Promise<void> {
  const { world, caller, own, n, note } = user;
  const { timeline, witness } = world;
  const token = !user.direct && own.chance(0.4) ? `patch-${n}-${user.patches++}` : undefined;
  const { query, headers: seen } = asSeen(user);
  const headers = { ...seen, ...(token !== undefined && { "idempotency-key": token }) };
  const path = `/jobs/${id}${query}`;
  if (token !== undefined && wish.body !== undefined) witness.repeats.gives(wish.body);
  const sentAt = timeline.now();
  const hasToken = token !== undefined;
  const answer = await caller("PATCH", path, wish, headers);
  look(user, answer);
  note(answer, wish, sentAt, { changed: true, hasToken });
  if (token === undefined || own.chance(0.4)) return;
  if (own.chance(0.5)) await patch(user, id, { body: user.bodyNow() });
  await timeline.wait(own.next() * pickFrom(own, WAITS, world.stretch.waits));
  note(await caller("PATCH", path, wish, headers), wish, sentAt, { changed: false });
}
