import { inject } from "vitest";
import { cannot, type Exception } from "./places.ts";

/** For a suite that needs what some places cannot do: whether to skip it here, and its title, with the reason. */
export function here(needs: Exception, title: string): { skip: boolean; title: string } {
  const { place } = inject("target");
  const reason = cannot(place, needs);
  return reason === undefined
    ? { skip: false, title }
    : { skip: true, title: `${title} [not on ${place}: ${needs}: ${reason}]` };
}
