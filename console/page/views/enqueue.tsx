import { useState } from "preact/hooks";
import { messageOf } from "../../../core/errors.ts";
import type { JobJson } from "../../../http/answers.ts";
import { call, refresh } from "../api.ts";
import { curlText, type NewJob, typescriptText } from "../job-call.ts";
import { type OptionTexts, readOptions } from "../job-fields.ts";
import { readJson } from "../json-text.ts";
import { ActionError } from "../parts/action.tsx";
import { Copied } from "../parts/copied.tsx";
import { JsonField } from "../parts/json-field.tsx";
import { OptionFields } from "../parts/option-fields.tsx";
import { addresses, useSearch } from "../parts/search.ts";
import { Time } from "../parts/time.tsx";
import { TimeField } from "../parts/time-field.tsx";
import { TopicField } from "../parts/topic-field.tsx";
import { useTopics } from "../reads.ts";
import { about, apiUrl } from "../server.ts";
import { now, zone } from "../state.ts";
import { readJobTime, readTime } from "../time-words.ts";

/** What a second job with the same key does. */
const DUPLICATES = {
  reject: "refuse the new job",
  keep: "keep the live job",
  replace: "replace the live job",
  postpone: "postpone the live job (debounce)",
} as const;

/** A form that files a job, and shows the same call as curl and as TypeScript. */
export function EnqueueView() {
  const [query, change] = useSearch();
  const topics = useTopics();
  const topic = query.topic || topics.data?.[0]?.topic || "";
  const [key, setKey] = useState("");
  const [onDuplicate, setOnDuplicate] = useState<keyof typeof DUPLICATES>("reject");
  const [maxDelay, setMaxDelay] = useState("1h");
  const [when, setWhen] = useState("in 30 minutes");
  const [body, setBody] = useState('{\n  "text": "hello"\n}');
  const [options, setOptions] = useState<OptionTexts>({});
  const [answer, setAnswer] = useState<{ job: JobJson } | { error: unknown } | undefined>();
  const [isFiling, setFiling] = useState(false);

  const time = readJobTime(when, now.value, zone.value);
  const due = readTime(when, now.value, zone.value);
  const json = readJson(body);
  const duplicate = {
    onDuplicate,
    ...(onDuplicate === "postpone" ? { maxDelay } : {}),
  };
  const job: NewJob | undefined =
    time !== undefined && "value" in json
      ? {
          topic,
          ...(key === "" ? {} : { key, ...(onDuplicate === "reject" ? {} : duplicate) }),
          ...time,
          body: json.value,
          ...readOptions(options),
        }
      : undefined;

  async function file(event: Event): Promise<void> {
    event.preventDefault();
    if (job === undefined) return;
    setFiling(true);
    try {
      const idempotencyKey = crypto.randomUUID();
      const filed = await call<JobJson>("POST", "/jobs", { id: "string" }, { body: job, idempotencyKey });
      setAnswer({ job: filed });
    } catch (error) {
      setAnswer({ error });
    } finally {
      setFiling(false);
      void refresh();
    }
  }

  return (
    <>
      <h1>Enqueue a job</h1>
      <form class="columns" onSubmit={(event) => void file(event)}>
        <div>
          <TopicField value={topic} onChange={(name) => change({ topic: name })} />
          <TimeField label="Due" isOfJob value={when} onChange={setWhen} />
          <div class="field">
            <label>
              Key (optional)
              <input
                value={key}
                placeholder="order-17"
                onInput={(event) => setKey(event.currentTarget.value)}
              />
            </label>
          </div>
          {key !== "" && (
            <div class="field">
              <label>
                If a live job has this key
                <select
                  value={onDuplicate}
                  onChange={(event) => setOnDuplicate(event.currentTarget.value as keyof typeof DUPLICATES)}
                >
                  {Object.entries(DUPLICATES).map(([name, text]) => (
                    <option key={name} value={name}>
                      {text}
                    </option>
                  ))}
                </select>
              </label>
              {onDuplicate === "postpone" && (
                <label>
                  At most this long after its first enqueue
                  <input value={maxDelay} onInput={(event) => setMaxDelay(event.currentTarget.value)} />
                </label>
              )}
            </div>
          )}
          <JsonField label="Body (JSON)" value={body} onChange={setBody} />
          <OptionFields texts={options} onChange={setOptions} />
          <p>
            {job === undefined || !("at" in due) ? (
              `Mend ${[...("at" in due ? [] : ["the time"]), ...("value" in json ? [] : ["the body"])].join(" and ")} first.`
            ) : (
              <>
                This files one job of <strong>{topic}</strong>, due <Time at={Math.max(due.at, now.value)} />.
              </>
            )}
          </p>
          <div class="buttons">
            <button type="submit" class="primary" disabled={job === undefined || isFiling || topic === ""}>
              {isFiling ? "Filing …" : "Enqueue the job"}
            </button>
          </div>
          <div aria-live="polite">{answer && <Answer answer={answer} />}</div>
        </div>
        <div>
          <h2>The same call as curl</h2>
          <Copied name="curl command" text={job && curlText(job, apiUrl, about.auth)} />
          <h2>The same call as TypeScript</h2>
          <Copied name="TypeScript" text={job && typescriptText(job, apiUrl, about.auth)} />
        </div>
      </form>
    </>
  );
}

const OUTCOMES: Readonly<Record<string, string>> = {
  created: "Filed",
  kept: "Kept the live job",
  replaced: "Replaced the live job",
  postponed: "Postponed the live job",
  replayed: "Filed already",
};

function Answer({ answer }: { answer: { job: JobJson } | { error: unknown } }) {
  if ("error" in answer) return <ActionError error={answer.error} />;
  const { id, key, dueAt, outcome = "created" } = answer.job;
  return (
    <p class="notice">
      <span>
        {OUTCOMES[outcome] ?? messageOf(outcome)}: <a href={addresses.job(id)}>{key ?? id}</a>, due{" "}
        <Time at={dueAt} />
      </span>
    </p>
  );
}
