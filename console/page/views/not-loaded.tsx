import { Empty } from "../parts/loaded.tsx";

/** Stands in the place of a view whose code could not be read from the page's server. */
export function NotLoaded() {
  return (
    <>
      <h1>Not loaded</h1>
      <Empty>
        <p>This view could not be loaded: the page's server does not answer. Does it still run?</p>
        <button type="button" onClick={() => location.reload()}>
          Try again
        </button>
      </Empty>
    </>
  );
}
