/** The `engines` of package.json. */
const OLDEST_NODE = "22.12";

/**
 * Says what to install if this Node, such as `v20.19.0`, is too old for the program; `undefined` if it is not. This file imports nothing,
 * because the program's other files import modules that an old Node does not have.
 */
export function refusalOfNode(version: string): string | undefined {
  if (version.localeCompare(`v${OLDEST_NODE}`, "en", { numeric: true }) >= 0) return undefined;
  return `this program needs Node ${OLDEST_NODE} or later, and "minutehand local" Node 24, got ${version}: install Node 24 from https://nodejs.org`;
}
