import { MinutehandError } from "../core/errors.ts";
import { isJobId, JOB_ID_RULE } from "../core/job-id.ts";
import { KEY_PATTERN, KEY_RULE } from "../core/job-key.ts";
import { SCHEDULE_NAME, SCHEDULE_NAME_RULE } from "../core/occurrence.ts";
import { TOPIC_NAME, TOPIC_NAME_RULE } from "../core/topic-name.ts";
import { shown } from "../http/issues.ts";

type Rule = readonly [test: (name: string) => boolean, text: string];
const RULES: Readonly<Record<string, Rule>> = {
  id: [isJobId, JOB_ID_RULE],
  topic: [(name) => TOPIC_NAME.test(name), `must be ${TOPIC_NAME_RULE}`],
  key: [(name) => KEY_PATTERN.test(name), KEY_RULE],
  name: [(name) => SCHEDULE_NAME.test(name), `must be ${SCHEDULE_NAME_RULE}`],
};

/**
 * Puts names into a path of the API, such as `/topics/{topic}`. Throws the error of the API, `bad-request`, if a name breaks the API's rule: a name
 * such as "a/b" or "" would make the path of another call, or of none.
 */
export function pathOf(path: string, names: Readonly<Record<string, unknown>>): string {
  const errors = Object.entries(names).flatMap(([name, value]) => {
    const [holds, message] = RULES[name] as Rule;
    return typeof value === "string" && holds(value) ? [] : { path: name, message };
  });
  const told = errors.map(({ path, message }) => `${path} ${message}, got ${shown(names[path])}`);
  if (errors.length > 0) throw new MinutehandError("bad-request", told.join("; "), { errors });
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(names[name])));
}
