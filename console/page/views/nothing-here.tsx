import { Empty } from "../parts/loaded.tsx";
import { addresses } from "../parts/search.ts";

export function NothingHere() {
  return (
    <Empty>
      <h1>There is no such view</h1>
      <p>
        <code>{location.pathname}</code> names no view of the console. Open the{" "}
        <a href={addresses.overview}>overview</a>.
      </p>
    </Empty>
  );
}
