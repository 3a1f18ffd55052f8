import { inject } from "vitest";
import { cannot, type Exception } from "./places.ts";

/** Says for a test that some places cannot run whether to skip it at this place. If so, its title ends with the reason. */
export function here(needs: Exception, title: string): { skip: boolean; title: string } {
  const { place } = inject("target");
  const reason = cannot(place, needs);
  return reason === undefined
    ? { skip: false, title }
    : { skip: true, title: `${title} [not on ${place}: ${needs}: ${reason}]` };
}
