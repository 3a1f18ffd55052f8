import { useQuery } from "@tanstack/preact-query";
import { useRef, useState } from "preact/hooks";
import { aheadText, CLOCK_PATH } from "../../stack-clock.ts";
import { REFRESH_MS, refresh } from "../api.ts";
import { ahead } from "../clock.ts";
import { now, say } from "../state.ts";
import { Time } from "./time.tsx";

export const MOVES = {
  minute: { name: "+1 minute", move: { by: 60_000 } },
  hour: { name: "+1 hour", move: { by: 3_600_000 } },
  "next-job": { name: "To the next job", move: { to: "next-job" } },
};

/** A button that says how far the local stack's clock is ahead, with a dialog that moves the clock. */
export function StackClock() {
  const dialog = useRef<HTMLDialogElement>(null);
  useQuery({ queryKey: ["clock"], refetchInterval: REFRESH_MS, queryFn: () => askClock() });
  const { isMoving, moveOn } = useMoves((reason) => {
    dialog.current?.close();
    say({ text: `The clock was not moved: ${reason}.`, isFailure: true });
  });
  const further = aheadText(ahead.value);
  return (
    <>
      <button type="button" onClick={() => dialog.current?.showModal()}>
        Clock{further && ` ${further}`}
      </button>
      <dialog ref={dialog} aria-labelledby="clock-title">
        <h2 id="clock-title">Clock of the local stack</h2>
        <p role="status">
          {isMoving ? "Playing all that is due until then …" : <Time at={now.value} show="time" />}
          {!isMoving && further && `, this machine's clock ${further}`}
        </p>
        <p class="quiet">
          A move plays all that would happen until then, in its order. The clock never goes back. It stays
          ahead until <code>minutehand local --reset</code>.
        </p>
        <form method="dialog" class="buttons">
          {Object.values(MOVES).map(({ name, move }) => (
            <button key={name} type="button" disabled={isMoving} onClick={() => void moveOn(move)}>
              {name}
            </button>
          ))}
          <button type="submit">Close</button>
        </form>
      </dialog>
    </>
  );
}

function useMoves(onFailure: (reason: string) => void) {
  const [isMoving, setMoving] = useState(false);
  const moveOn = async (move: object) => {
    setMoving(true);
    try {
      await moveClock(move);
    } catch (error) {
      onFailure((error as Error).message);
    } finally {
      setMoving(false);
    }
  };
  return { isMoving, moveOn };
}

/** Throws an error with the reason if the stack refuses. */
export async function moveClock(move: object): Promise<void> {
  await askClock({ method: "POST", body: JSON.stringify(move) });
  await refresh();
}

type Answer = { readonly ahead?: number; readonly message?: string };

/** Reads the clock, or moves it if `request` says so. Throws an error with the reason if the stack refuses. */
async function askClock(request: RequestInit = {}): Promise<number> {
  const response = await fetch(CLOCK_PATH, request);
  const answer: Answer = await response.json();
  if (answer.ahead === undefined) throw new Error(answer.message ?? `status ${response.status}`);
  ahead.value = answer.ahead;
  return answer.ahead;
}
