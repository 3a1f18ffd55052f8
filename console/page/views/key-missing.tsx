import { Empty } from "../parts/loaded.tsx";

/** What the page shows instead of a view when its server does not accept its key. Says how to get the key. */
export function KeyMissing() {
  return (
    <Empty>
      <h1>This page may not call the API yet</h1>
      <p>
        The page calls an API with your credentials, and needs a key for that. The key is at the end of the
        address that <code>minutehand console</code> has printed, after <code>#key=</code>.
      </p>
      <ol>
        <li>Go to the terminal in which the command runs.</li>
        <li>Open the whole address that it has printed. Each start of the command prints a new address.</li>
      </ol>
      <p>Then this page loads itself again.</p>
      <button type="button" onClick={() => location.reload()}>
        Load again
      </button>
    </Empty>
  );
}
