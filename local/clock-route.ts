import type { IncomingMessage, ServerResponse } from "node:http";
import * as z from "zod/mini";
import { CLOCK_PATH, LONGEST_MOVE } from "./clock-path.ts";
import { errorText } from "./local-error.ts";
import { readRequestBody } from "./loopback-server.ts";
import type { ClockMoves } from "./move-clock.ts";
import type { MovingClock } from "./services/clock.ts";
import { refusalOfWebPage } from "./web-page.ts";

const MOST_BYTES = 1_000;

const request = z.union([
  z.strictObject({ by: z.int().check(z.minimum(1), z.maximum(LONGEST_MOVE)) }),
  z.strictObject({ to: z.literal("next-job") }),
]);

/** `moves`, or why the clock cannot be moved. */
type Moves = ClockMoves | string;

/** A GET answers the time of the stack's clock, and a POST moves it. Answers whether it has taken the request. */
export function clockRoute(clock: MovingClock, moves: () => Moves, runs: () => number) {
  let isMoving = false;
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    if (request.url !== CLOCK_PATH) return false;
    const answer = (status: number, body: object) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    const refusal = refusalOfWebPage(request.headers);
    if (refusal !== undefined) answer(403, { message: refusal });
    else if (request.method === "GET") answer(200, timeOf(clock, runs()));
    else if (request.method !== "POST") answer(405, { message: "the method must be GET or POST" });
    else if (isMoving) answer(409, { message: "another move of the clock goes on" });
    else {
      isMoving = true;
      void post(request, response, moves())
        .catch((error: unknown) => ({ status: 500, message: errorText(error) }))
        .then((failed) => {
          isMoving = false;
          if (failed) answer(failed.status, { message: failed.message });
          else answer(200, timeOf(clock, runs()));
        });
    }
    return true;
  };
}

/** `runs`: how many runs of jobs have begun since the runner started. */
function timeOf(clock: MovingClock, runs: number): object {
  return { now: new Date(clock.now()).toISOString(), ahead: clock.ahead(), runs };
}

type Failed = { readonly status: number; readonly message: string };

async function post(
  incoming: IncomingMessage,
  response: ServerResponse,
  moves: Moves,
): Promise<Failed | undefined> {
  const body = await readRequestBody(incoming, MOST_BYTES);
  const { data: asked } = z.safeParse(request, body === "too-large" ? body : jsonIn(body));
  if (asked === undefined)
    return {
      status: 400,
      message: `the body must be {"by": <1 to ${LONGEST_MOVE} ms>} or {"to": "next-job"}`,
    };
  if (typeof moves === "string") return { status: 409, message: moves };
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  if ("by" in asked) await moves.moveBy(asked.by, gone.signal);
  else if (!(await moves.moveToNextJob(gone.signal))) return { status: 404, message: "no job waits" };
  return undefined;
}

function jsonIn(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
