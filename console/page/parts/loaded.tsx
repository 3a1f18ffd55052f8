import type { UseQueryResult } from "@tanstack/preact-query";
import type { ComponentChildren } from "preact";
import { MinutehandError, messageOf } from "../../../src/core/errors.ts";
import { queueTime } from "../clock.ts";
import { Time } from "./time.tsx";

type Props<Data> = {
  readonly query: Pick<
    UseQueryResult<Data>,
    "data" | "error" | "isPending" | "dataUpdatedAt" | "failureReason" | "refetch"
  >;
  readonly what: string;
  readonly children: (data: Data) => ComponentChildren;
};

/** Shows what was read, that it is being read, why it could not be read, or that it is old because the last read failed. */
export function Loaded<Data>({ query, what, children }: Props<Data>) {
  const { data, error, failureReason, dataUpdatedAt, refetch } = query;
  // `dataUpdatedAt` is 0 while the page still shows the data of the query before.
  const failed = dataUpdatedAt === 0 ? undefined : (error ?? failureReason);
  if (data === undefined) {
    if (error) return <Failure error={error} what={what} again={() => void refetch()} />;
    return (
      <div class="skeleton">
        <p class="quiet" role="status">
          Reading {what} …
        </p>
        <i />
        <i />
        <i />
      </div>
    );
  }
  return (
    <>
      {failed && (
        <div class="stale" role="status">
          <p>
            This is from <Time at={queueTime(dataUpdatedAt)} />. Since then {what} could not be read:{" "}
            {messageOf(failed)}
          </p>
          <button type="button" onClick={() => void refetch()}>
            Try again
          </button>
        </div>
      )}
      {children(data)}
    </>
  );
}

export function Failure({ error, what, again }: { error: unknown; what: string; again?: () => void }) {
  const code = error instanceof MinutehandError ? error.code : undefined;
  return (
    <div class="failure" role="alert">
      <p>
        <strong>Cannot read {what}.</strong> {code && <code>{code}</code>} {messageOf(error)}
      </p>
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="empty">{children}</div>;
}
