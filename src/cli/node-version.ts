/** The `engines` of package.json. */
const OLDEST_NODE = "22.12";

/** `undefined` if this Node is not too old. This file imports nothing: an old Node does not have the modules that other files import. */
export function refusalOfNode(version: string): string | undefined {
  if (version.localeCompare(`v${OLDEST_NODE}`, "en", { numeric: true }) >= 0) return undefined;
  return `this program needs Node ${OLDEST_NODE} or later, and "minutehand local" Node 24, got ${version}: install Node 24 from https://nodejs.org, or in the project: npm install --save-dev node@24, and then npx minutehand`;
}
