import type { CarriedAction, CarriedLine, Change } from "../../console/carried.ts";
import { many } from "./columns.ts";
import type { GlobalOptions } from "./session.ts";

/** How long Ctrl-C waits for the present calls of actions, ms. */
export const STOP_MS = 10_000;

/** Without these flags, the command could change a stack of the same name in another account or region. */
type Account = Pick<GlobalOptions, "region" | "profile">;

/** `url`: absent if the command finds the API itself. */
type Place = { readonly url?: string | undefined; readonly stack?: { readonly name: string } | undefined };

/** Says what the stopped actions of a console have done, and which commands do the rest. */
export function unfinishedTexts(
  actions: readonly CarriedAction[],
  target: Place,
  account: Account,
): string[] {
  return actions.flatMap(({ change, lines }) =>
    lines.filter(({ isDone }) => !isDone).map((line) => unfinishedText(change, line, target, account)),
  );
}

function unfinishedText(change: Change, line: CarriedLine, target: Place, account: Account): string {
  const { topic } = line.which;
  const done = `the console was changing jobs of ${topic} (${change.action}): ${many(line.changed)} of ${line.counted} changed`;
  return `${done}; to continue, run: ${commandOf(change, line, target, account)}`;
}

function commandOf(
  change: Change,
  { which, cursor, key }: CarriedLine,
  { url, stack }: Place,
  { region, profile }: Account,
): string {
  const { action, dueAt, delay, shift, ratePerSecond, reason } = change;
  const { topic, jobs, ...filters } = which;
  if (jobs !== undefined && action === "move") return "minutehand console, and there the same action again";
  const ids = jobs?.slice(Number(cursor ?? 0)).map(({ id }) => id) ?? [];
  const isOfDead = action === "redrive" || action === "dismiss";
  const flags = {
    ...(stack === undefined ? { url } : { stack: stack.name }),
    ...{ region, profile },
    ...(isOfDead ? {} : { topic }),
    ...{
      "due-at": dueAt,
      delay,
      shift,
      rate: ratePerSecond,
      reason,
      ...(jobs ? {} : { ...filters, cursor }),
    },
    // Without a cursor, a second call of a shift could move jobs once more.
    ...(shift !== undefined && cursor === undefined ? { "idempotency-key": key } : {}),
  };
  const words = { cancel: ["cancel"], move: ["reschedule"], run: ["reschedule", "--now"] };
  const begin = isOfDead ? [action, quoted(topic), ...ids] : words[action];
  const given = Object.entries(flags).filter(([, value]) => value !== undefined);
  return ["minutehand", ...begin, ...given.map(([name, value]) => `--${name} ${quoted(String(value))}`)].join(
    " ",
  );
}

/** Quotes a text for a shell, if the shell would change it. */
function quoted(text: string): string {
  return /^[\w.:/@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
