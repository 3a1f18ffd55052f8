import { signal } from "@preact/signals";
import { useQuery } from "@tanstack/preact-query";
import { useEffect, useRef } from "preact/hooks";
import { ACTIONS_PATH } from "../about.ts";
import type { CarriedAction, Plan } from "../carried.ts";
import { call, queries, refresh } from "./api.ts";
import { isKeyWrong } from "./server.ts";

/** Starts, watches, stops and continues the actions on many jobs that the console's server carries on. */

const ACTION = { id: "string", state: "string" } as const;
const KEY = ["actions"];

/** The page asks its own server, so this costs nothing, and another tab may have started an action. */
const EVERY_MS = { running: 1000, idle: 5000 };

/** Whether the server has not answered the last read, so that nobody knows whether an action goes on. */
export const isSilent = signal(false);

export function isRunning({ state }: CarriedAction): boolean {
  return state === "running" || state === "stopping";
}

/** Adds the actions that were in progress when this page read them last, and that the server does not know. They stay until the page is loaded again. */
function withLost(answered: readonly CarriedAction[]): readonly CarriedAction[] {
  const before = queries.getQueryData<readonly CarriedAction[]>(KEY) ?? [];
  const lost = before.filter(
    (action) =>
      (isRunning(action) || action.state === "lost") && !answered.some(({ id }) => id === action.id),
  );
  return [...lost.map((action) => ({ ...action, state: "lost" as const })), ...answered];
}

/** The last actions of all tabs, the newest first. When an action ends, the page reads everything again that it has changed. */
export function useActions(): readonly CarriedAction[] {
  const { data = [] } = useQuery<readonly CarriedAction[]>({
    queryKey: KEY,
    enabled: !isKeyWrong.value,
    refetchInterval: ({ state }) => EVERY_MS[state.data?.some(isRunning) ? "running" : "idle"],
    async queryFn({ signal: ended }) {
      const shape = { actions: "array" } as const;
      const reading = call<{ actions: CarriedAction[] }>("GET", ACTIONS_PATH, shape, { signal: ended });
      const answered = await reading.catch((error: unknown) => {
        isSilent.value = !ended.aborted;
        throw error;
      });
      isSilent.value = false;
      return withLost(answered.actions);
    },
  });
  const running = data.filter(isRunning).length;
  const before = useRef(running);
  useEffect(() => {
    if (running < before.current) void refresh();
    before.current = running;
  }, [running]);
  return data;
}

export async function startAction(body: Plan): Promise<void> {
  await call("POST", ACTIONS_PATH, ACTION, { body });
  await queries.invalidateQueries({ queryKey: KEY });
}

export async function stopAction(id: string): Promise<void> {
  await call("DELETE", `${ACTIONS_PATH}/${id}`, ACTION);
  await queries.invalidateQueries({ queryKey: KEY });
}

export async function continueAction(id: string): Promise<void> {
  await call("POST", `${ACTIONS_PATH}/${id}`, ACTION);
  await queries.invalidateQueries({ queryKey: KEY });
}
