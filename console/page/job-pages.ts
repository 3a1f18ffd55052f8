import { useInfiniteQuery } from "@tanstack/preact-query";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { queries, REFRESH_MS, refetchEvery } from "./api.ts";
import { type JobPage, type JobSelection, jobPage } from "./reads.ts";
import { type ShownState, shownState } from "./shown-state.ts";

/** A list of so many pages is read again at each interval. A longer list is read again only when the user asks for that. */
export const REFRESHED_PAGES = 2;
/** A page may have no job although the list goes on. Then the next pages are read without a click, until so many jobs are there. */
const FIRST_JOBS = 50;
/** So many jobs are looked at for a state that the API does not select, until the user asks for more. */
const LOOKED_AT = 2000;

export type JobPages = ReturnType<typeof useJobPages>;

/** `seen`: only the jobs that have this state to the eye, of those that the API selects. */
export function useJobPages(asked: JobSelection, seen: ShownState | undefined) {
  const queryKey = ["jobs", asked];
  const [isStopped, setStopped] = useState(false);
  const [mostLookedAt, setMostLookedAt] = useState(LOOKED_AT);
  const pages = useInfiniteQuery({
    queryKey,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => jobPage(asked, pageParam, signal),
    getNextPageParam: ({ cursor }) => cursor,
    // The lines of the selection before stay until those of a new selection are read, so that nothing moves under the pointer.
    placeholderData: (before) => before,
    refetchInterval: ({ state }) =>
      (state.data?.pages.length ?? 0) <= REFRESHED_PAGES &&
      refetchEvery(Math.max(REFRESH_MS, 5000))({ state }),
  });
  const { fetchNextPage, hasNextPage, isFetching, isFetchingNextPage, isPlaceholderData, data } = pages;
  const { lookedAt, jobs } = useMemo(() => jobsIn(data?.pages ?? [], seen), [data, seen]);
  const isEnough = seen !== undefined && lookedAt.length >= mostLookedAt;
  const readOn = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage && !isEnough) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, isEnough]);
  useEffect(() => {
    if (jobs.length < FIRST_JOBS && !isStopped) readOn();
  }, [jobs.length, isStopped, readOn]);
  return {
    pages,
    jobs,
    lookedAt: lookedAt.length,
    isMore: isPlaceholderData ? data?.pages.at(-1)?.cursor !== undefined : hasNextPage,
    /** Whether the list is from before an action. */
    isOld: isFetching && queries.getQueryState(queryKey)?.isInvalidated,
    readOn,
    readOnOrStop: () => {
      setStopped(isFetchingNextPage);
      setMostLookedAt(lookedAt.length + LOOKED_AT);
      if (!isFetchingNextPage) void fetchNextPage();
    },
    readAgain: () => void queries.resetQueries({ queryKey }),
  };
}

function jobsIn(pages: readonly JobPage[], seen: ShownState | undefined) {
  const lookedAt = pages.flatMap((page) => page.jobs);
  const jobs = seen === undefined ? lookedAt : lookedAt.filter((job) => shownState(job) === seen);
  return { lookedAt, jobs };
}
