/** Where the functions of topics write their logs. The API's function reads it from its stage: its environment has too little room. */
export type Logs = {
  readonly region: string;
  /** The log group of each topic's function, by the topic's name. */
  readonly groups: Readonly<Record<string, string>>;
};

/** "Quotas for HTTP APIs": a stage has at most 100 variables. One of them is the region. */
const MOST_GROUPS = 99;
const REGION = "logRegion";
const GROUP = "log";

/**
 * Writes the variables of a stage. Leaves out the topics after the first `MOST_GROUPS`. The values may not contain quotes or braces, so
 * the names are not written as JSON.
 */
export function logVariables({ region, groups }: Logs): Record<string, string> {
  const named = Object.entries(groups).slice(0, MOST_GROUPS);
  const variables = named.map(([topic, group], i) => [`${GROUP}${i}`, `${topic}=${group}`]);
  return { [REGION]: region, ...Object.fromEntries(variables) };
}

export function logsIn(variables: Readonly<Record<string, string | undefined>> = {}): Logs | undefined {
  const { [REGION]: region, ...others } = variables;
  if (region === undefined) return undefined;
  const groups = Object.entries(others).flatMap(([name, value = ""]) => {
    const [, topic, group] = /^([^=]+)=(.+)$/.exec(value) ?? [];
    return name.startsWith(GROUP) && topic !== undefined && group !== undefined ? [[topic, group]] : [];
  });
  return { region, groups: Object.fromEntries(groups) };
}

/**
 * The address of a log group in CloudWatch's console, with the events that match a filter pattern.
 *
 * @param group the name, as `inConsole` writes it
 * @param start the time of the first event, ms since the epoch
 */
export function logUrl(region: string, group: string, pattern: string, start?: number): string {
  const since = start === undefined ? "" : `&start=${start}`;
  const query = escaped(encodeURIComponent(`?filterPattern=${encodeURIComponent(pattern)}${since}`));
  return `https://${consoleOf(region)}/cloudwatch/home?region=${region}#logsV2:log-groups/log-group/${group}/log-events${query}`;
}

/** What an address of `logUrl` names. `undefined`: it is no such address. */
export function logPlaceIn(
  url: string,
):
  | { readonly region: string; readonly group: string; readonly pattern: string; readonly start: number }
  | undefined {
  const { protocol, host, searchParams, hash = "" } = URL.parse(url) ?? {};
  const region = searchParams?.get("region") ?? "";
  if (protocol !== "https:" || !/^[a-z0-9-]+$/.test(region) || host !== consoleOf(region)) return undefined;
  const [, group, query] = /^#logsV2:log-groups\/log-group\/([^/]+)\/log-events(.+)$/.exec(hash) ?? [];
  if (group === undefined || query === undefined) return undefined;
  try {
    const asked = new URLSearchParams(decodeURIComponent(query.replaceAll("$", "%")));
    const [pattern, start] = [asked.get("filterPattern"), Number(asked.get("start") ?? Number.NaN)];
    if (pattern === null || !Number.isSafeInteger(start)) return undefined;
    return {
      ...{ region, pattern, start },
      group: decodeURIComponent(decodeURIComponent(group.replaceAll("$", "%"))),
    };
  } catch {
    // An escape that is none.
    return undefined;
  }
}

/** A name in an address of CloudWatch's console, which decodes names twice, and reads `$` as `%`. */
export function inConsole(name: string): string {
  return escaped(encodeURIComponent(encodeURIComponent(name)));
}

function escaped(text: string): string {
  return text.replaceAll("%", "$");
}

export function consoleOf(region: string): string {
  if (region.startsWith("cn-")) return `${region}.console.amazonaws.cn`;
  if (region.startsWith("us-gov-")) return `${region}.console.amazonaws-us-gov.com`;
  return `${region}.console.aws.amazon.com`;
}
