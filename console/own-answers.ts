import type { IncomingMessage, ServerResponse } from "node:http";
import { MinutehandError, messageOf } from "../src/core/errors.ts";
import { ABOUT_PATH, ACTIONS_PATH, HISTORY_PATH, LOGS_PATH } from "./about.ts";
import { answerJson, answerProblem } from "./answers.ts";
import { historyAsked, type ReadHistory } from "./history.ts";
import type { JobLog } from "./job-logs.ts";

/** What the page asks only of its own server, by path. The caller has refused what other pages and other users have sent. */
export type OwnAnswers = Readonly<
  Record<string, (request: IncomingMessage, response: ServerResponse) => void>
>;

/** Where `minutehand console` answers only with the key. */
export const KEYED_PATHS = [ABOUT_PATH, ACTIONS_PATH, HISTORY_PATH, LOGS_PATH];

/** `undefined`: the server has no answer of its own at this path. */
export function ownAnswer(own: OwnAnswers, path: string): OwnAnswers[string] | undefined {
  return Object.entries(own).find(([beginning]) => isUnder(path, beginning))?.[1];
}

export function isUnder(path: string, beginning: string): boolean {
  return path === beginning || path.startsWith(`${beginning}/`);
}

/** `read` never rejects. */
export function answerHistory(read: ReadHistory): OwnAnswers[string] {
  return (request, response) =>
    void read(historyAsked(request.url)).then((history) => answerJson(response, 200, history));
}

/** `read` throws `MinutehandError`. */
export function answerLog(read: (job: string, signal: AbortSignal) => Promise<JobLog>): OwnAnswers[string] {
  return (request, response) => {
    const id = new URL(request.url ?? "", "http://localhost").searchParams.get("job") ?? "";
    const left = new AbortController();
    response.on("close", () => left.abort());
    read(id, left.signal)
      .then((log) => answerJson(response, 200, log))
      .catch((error: unknown) => {
        if (left.signal.aborted) return;
        const code = error instanceof MinutehandError ? error.code : "unavailable";
        const status = { forbidden: 403, "job-not-found": 404, "bad-request": 400 }[code as string] ?? 502;
        answerProblem(response, { status, code, detail: messageOf(error) });
      });
  };
}
