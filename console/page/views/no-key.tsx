import { Empty } from "../parts/loaded.tsx";

/** Shown if the address of a deployed queue's console has been opened without its key. */
export function NoKey() {
  return (
    <Empty>
      <h1>This address lacks its key</h1>
      <p>
        Open the whole address that <code>minutehand console</code> has printed. It ends with{" "}
        <code>#key=…</code>. With the key, only you can call the queue with your credentials.
      </p>
    </Empty>
  );
}
