import { useEffect, useRef, useState } from "preact/hooks";
import { MinutehandError } from "../../src/core/errors.ts";
import { api, FINAL } from "./api.ts";
import { firstOf, jobPage } from "./reads.ts";
import { type Searched, type Searching, type SearchReads, searchJobs } from "./search-jobs.ts";

/** So much is read before the user is asked whether to go on. */
const JOBS_A_TURN = 20_000;
const BODIES_A_TURN = 2000;
const TURN_MS = 30_000;

const PAGE_JOBS = 1000;
/** A page whose bodies are read is small, so that the first ones are compared soon. */
const PAGE_JOBS_WITH_BODIES = 100;
/** So many dead jobs of a topic are compared. */
const DEAD_JOBS = 2000;

export type JobSearch = {
  readonly searched: Searched | undefined;
  readonly isReading: boolean;
  readonly isWhole: boolean;
  readonly error: unknown;
  readonly stop: () => void;
  readonly goOn: () => void;
};

const BEGUN = { searched: undefined, isReading: true, isWhole: false, error: undefined } as const;

/** Searches when `asked` has changed. `undefined`: not yet. */
export function useJobSearch(asked: Searching | undefined): JobSearch {
  const [state, setState] = useState<Omit<JobSearch, "stop" | "goOn">>(BEGUN);
  const stopped = useRef(false);
  const turn = useRef(async () => {});
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (asked === undefined) return;
    const end = new AbortController();
    const tell = (more: Partial<typeof state>) => {
      if (!end.signal.aborted) setState((before) => ({ ...before, ...more }));
    };
    const steps = searchJobs(asked, readsOf(asked, end.signal));
    turn.current = () => takeTurn(steps, () => stopped.current || end.signal.aborted, tell);
    setState(BEGUN);
    stopped.current = false;
    void turn.current();
    return () => end.abort();
  }, [asked, tries]);
  return {
    ...state,
    stop() {
      stopped.current = true;
    },
    goOn() {
      stopped.current = false;
      if (state.error === undefined) void turn.current();
      else setTries(tries + 1);
    },
  };
}

async function takeTurn(
  steps: AsyncGenerator<Searched, void>,
  isStopped: () => boolean,
  tell: (more: Partial<JobSearch>) => void,
): Promise<void> {
  const end = performance.now() + TURN_MS;
  tell({ isReading: true });
  let first: Searched | undefined;
  try {
    for (;;) {
      const { value, done } = await steps.next();
      if (done) return tell({ isReading: false, isWhole: true });
      tell({ searched: value });
      first ??= value;
      const isOver =
        value.jobs - first.jobs >= JOBS_A_TURN ||
        value.bodies - first.bodies >= BODIES_A_TURN ||
        performance.now() > end;
      if (isOver || isStopped()) return tell({ isReading: false });
    }
  } catch (error) {
    tell({ isReading: false, error });
  }
}

function readsOf({ withBodies }: Searching, signal: AbortSignal): SearchReads {
  const limit = withBodies ? PAGE_JOBS_WITH_BODIES : PAGE_JOBS;
  return {
    page: (asked, cursor) => jobPage(asked, cursor, signal, limit),
    dead: (topic) => firstOf(api.dead(topic, { signal, pageSize: PAGE_JOBS }), DEAD_JOBS),
    async bodyOf(id) {
      try {
        return (await api.get(id, { signal })).body;
      } catch (error) {
        // The job may have ended and been deleted since it was listed.
        if (error instanceof MinutehandError && FINAL.includes(error.code)) return undefined;
        throw error;
      }
    },
  };
}
