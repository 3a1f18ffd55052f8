import type { Topic } from "../reads.ts";
import { Time } from "./time.tsx";

const NAMED_KINDS = 3;
const MOST_NAMED_KINDS = 8;

/** How many kinds are named: so many that the others together are no more than the first. */
function namedOf(kinds: readonly { readonly count: number }[]): number {
  const [first] = kinds;
  const sumFrom = (place: number) => kinds.slice(place).reduce((sum, { count }) => sum + count, 0);
  let named = NAMED_KINDS;
  while (named < MOST_NAMED_KINDS && sumFrom(named) > (first?.count ?? 0)) named += 1;
  return named;
}

type Props = {
  readonly topic: Topic;
  /** Whether each line says when the newest of its jobs died. */
  readonly hasTimes?: boolean;
};

/** `9 × HTTP 503`, `3 × TypeError`, each in a line. */
export function DeadErrors({ topic: { dead }, hasTimes = false }: Props) {
  const { kinds, count: sum, atLeast } = dead;
  const named = namedOf(kinds);
  const others = kinds.slice(named).reduce((all, { count }) => all + count, 0);
  return (
    <>
      {atLeast && <p class="quiet">Of the oldest {sum.toLocaleString("en")}:</p>}
      <ul class="kinds quiet">
        {kinds.slice(0, named).map(({ title, count, last }) => (
          <li key={title} class="kind">
            {count.toLocaleString("en")} × {title}
            {/* Newer ones may not be read. */}
            {hasTimes && !atLeast && (
              <>
                , newest <Time at={last} show="distance" />
              </>
            )}
          </li>
        ))}
        {others > 0 && <li class="kind">{others.toLocaleString("en")} × other errors</li>}
      </ul>
    </>
  );
}
