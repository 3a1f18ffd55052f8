/**
 * The address of a job's log, or `undefined` if the API answers anything else than an address of CloudWatch's console. The page must not lead
 * to a place that a foreign API, or an item that somebody has changed, names.
 */
export function logLink(url: string | undefined): string | undefined {
  const { protocol, hostname = "", username, password, href } = URL.parse(url ?? "") ?? {};
  const isConsole = /^[a-z0-9-]+\.console\.(aws\.amazon\.com|amazonaws\.cn|amazonaws-us-gov\.com)$/.test(
    hostname,
  );
  return protocol === "https:" && isConsole && username === "" && password === "" ? href : undefined;
}
