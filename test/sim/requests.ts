/** A job that a call is for. `place`: its id, `topic#key`, or its topic if the call chooses the jobs. `body`: as JSON, if the call gives one. */
export type Wish = { readonly topic: string; readonly place: string; readonly body: string | undefined };

/** A call that files or changes jobs, as its caller sent it. */
export type Request = {
  readonly kind: "file" | "move" | "cancel" | "redrive" | "bulk";
  readonly wishes: readonly Wish[];
  readonly token: string | undefined;
  readonly reason: string | undefined;
  /** The tag in `If-Match`: `<id>.<revision>`, or the revision alone. */
  readonly seen: string | undefined;
  /** s. */
  readonly delay: number;
};

export type Headers = { "idempotency-key"?: string; "if-match"?: string };

type Fields = {
  topic?: string;
  key?: string;
  body?: unknown;
  jobs?: readonly Fields[];
  ids?: readonly string[];
  delay?: number;
};

/** Answers `undefined` for a call that neither files nor changes jobs by a caller's wish. */
export function requestOf(
  method: string,
  path: string,
  fields: Fields,
  headers: Headers,
): Request | undefined {
  const [plain = "", query] = path.split("?");
  const found = wishesOf(`${method} ${plain}`, fields);
  if (!found) return undefined;
  return {
    ...found,
    token: headers["idempotency-key"],
    reason: new URLSearchParams(query).get("reason") ?? undefined,
    seen: headers["if-match"]?.replaceAll('"', ""),
    delay: fields.delay ?? 0,
  };
}

function wishesOf(what: string, fields: Fields): Pick<Request, "kind" | "wishes"> | undefined {
  const { topic = "", jobs = [fields], ids } = fields;
  const [, first, second = "", , key] = what.split("/");
  const of = (place: string, asked: Fields = {}): Wish => {
    return { topic: asked.topic ?? "", place, body: JSON.stringify(asked.body) };
  };
  const all = (places: readonly string[]): Wish[] => places.map((place) => of(place));
  const keyed = (job: Fields): Wish => of(job.key === undefined ? "" : `${job.topic}#${job.key}`, job);
  if (what === "POST /jobs" || what === "POST /jobs/batch") return { kind: "file", wishes: jobs.map(keyed) };
  if (/^POST .*\/dismiss$/.test(what)) return { kind: "cancel", wishes: all(ids ?? []) };
  if (what === "POST /jobs/cancel") return { kind: "cancel", wishes: all(ids ?? []) };
  if (what === "POST /jobs/erase") return { kind: "bulk", wishes: all([topic]) };
  if (what === "POST /jobs/bulk") return { kind: "bulk", wishes: all([topic]) };
  if (/^POST .*\/redrive$/.test(what)) return { kind: "redrive", wishes: all(ids ?? [second]) };
  if (what.startsWith("PUT /topics/")) {
    return { kind: "file", wishes: [keyed({ ...fields, topic: second, ...(key && { key }) })] };
  }
  if (first !== "jobs") return undefined;
  if (what.startsWith("PATCH ")) return { kind: "move", wishes: [of(second, fields)] };
  return what.startsWith("DELETE ") ? { kind: "cancel", wishes: all([second]) } : undefined;
}
