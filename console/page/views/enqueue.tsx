import { useQuery } from "@tanstack/preact-query";
import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../../../src/core/errors.ts";
import type { JobJson } from "../../../src/http/answers/jobs.ts";
import { api, call, refresh } from "../api.ts";
import { clock } from "../clock.ts";
import { jsonText } from "../direction.ts";
import { curlText, type NewJob, typescriptText } from "../job-call.ts";
import { type OptionTexts, optionTexts, readOptions } from "../job-fields.ts";
import { readJson } from "../json-text.ts";
import { ActionError, VIEW_ONLY } from "../parts/action.tsx";
import { Copied } from "../parts/copied.tsx";
import { JsonField } from "../parts/json-field.tsx";
import { Failure } from "../parts/loaded.tsx";
import { OptionFields } from "../parts/option-fields.tsx";
import { addresses, useSearch } from "../parts/search.ts";
import { Time } from "../parts/time.tsx";
import { TimeField } from "../parts/time-field.tsx";
import { TopicField } from "../parts/topic-field.tsx";
import { topicOf, useTopics } from "../reads.ts";
import { about, apiUrl } from "../server.ts";
import { now, zone } from "../state.ts";
import { readJobTime, readTime } from "../time-words.ts";

const DUPLICATES = {
  reject: "refuse the new job",
  keep: "keep the live job",
  replace: "replace the live job",
  postpone: "postpone the live job (debounce)",
} as const;

/** What the form says. The topic stands in the address. */
type Fields = {
  readonly key: string;
  readonly onDuplicate: keyof typeof DUPLICATES;
  readonly maxDelay: string;
  readonly when: string;
  readonly body: string;
  readonly options: OptionTexts;
};

const FIRST_FIELDS: Fields = {
  key: "",
  onDuplicate: "reject",
  maxDelay: "1h",
  when: "in 30 minutes",
  body: '{\n  "example": "write the body that the jobs of this topic have"\n}',
  options: {},
};

export function EnqueueView() {
  const [query, changeAddress] = useSearch();
  const topics = useTopics();
  const [fields, setFields] = useState(FIRST_FIELDS);
  const copied = useCopied(query.copy, (job) => setFields(fieldsOf(job)));
  const topic = query.topic || copied.data?.topic || topics.data?.[0]?.topic || "";
  const change = (changed: Partial<Fields>) => setFields((before) => ({ ...before, ...changed }));
  const { file, answer, isFiling } = useFiling();
  const job = jobOf(topic, fields);
  return (
    <>
      <h1>Enqueue a job</h1>
      <CopyOf read={copied} />
      <form
        class="columns"
        onSubmit={(event) => {
          event.preventDefault();
          if (job !== undefined) void file(job);
        }}
      >
        <div>
          <TopicField value={topic} onChange={(name) => changeAddress({ topic: name })} />
          <TimeField label="Due" isOfJob value={fields.when} onChange={(when) => change({ when })} />
          <KeyFields fields={fields} change={change} />
          <JsonField label="Body (JSON)" value={fields.body} onChange={(body) => change({ body })} />
          <OptionFields texts={fields.options} onChange={(options) => change({ options })} />
          <Preview topic={topic} fields={fields} job={job} />
          <Submit isReady={job !== undefined && topic !== ""} isFiling={isFiling} />
          <div aria-live="polite">{answer && <Answer answer={answer} />}</div>
        </div>
        <SameCall job={job} />
      </form>
    </>
  );
}

/** Reads the job that the address names, and hands it over once. */
function useCopied(id: string | undefined, fill: (job: JobJson) => void) {
  const read = useQuery({
    queryKey: ["job", id],
    enabled: id !== undefined,
    refetchInterval: false as const,
    queryFn: ({ signal }) => api.get(id ?? "", { signal }),
  });
  const filled = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (read.data === undefined || filled.current === id) return;
    filled.current = id;
    fill(read.data);
  });
  return read;
}

function CopyOf({ read: { data, error } }: { read: ReturnType<typeof useCopied> }) {
  if (error) return <Failure error={error} what="the job to copy" />;
  if (data === undefined) return null;
  return (
    <p>
      This is a copy of <a href={addresses.job(data.id)}>{data.key ?? data.id}</a>. Nothing is filed until you
      press the button.
    </p>
  );
}

/** The fields of a form that files the same job again. A time that has passed is not repeated. */
function fieldsOf({ maxAttempts, ...job }: JobJson): Fields {
  const isOwn = topicOf(job.topic)?.policy.maxAttempts !== maxAttempts;
  return {
    ...FIRST_FIELDS,
    key: job.key ?? "",
    when: Date.parse(job.dueAt) > clock() ? job.dueAt : FIRST_FIELDS.when,
    body: jsonText(job.body, 2),
    options: optionTexts({ ...job, ...(isOwn && { maxAttempts }) }),
  };
}

function Submit({ isReady, isFiling }: { isReady: boolean; isFiling: boolean }) {
  const trouble = about.isViewOnly ? VIEW_ONLY : undefined;
  return (
    <div class="buttons">
      <button
        type="submit"
        class="primary"
        disabled={!isReady || isFiling || trouble !== undefined}
        title={trouble}
      >
        {isFiling ? "Filing …" : "Enqueue the job"}
      </button>
      {trouble && <span class="quiet">Not possible: {trouble}.</span>}
    </div>
  );
}

/** The job that the fields describe; `undefined` while a field is wrong. */
function jobOf(
  topic: string,
  { key, onDuplicate, maxDelay, when, body, options }: Fields,
): NewJob | undefined {
  const time = readJobTime(when, now.value, zone.value);
  const json = readJson(body);
  if (time === undefined || !("value" in json)) return undefined;
  const duplicate = { onDuplicate, ...(onDuplicate === "postpone" ? { maxDelay } : {}) };
  return {
    topic,
    ...(key === "" ? {} : { key, ...(onDuplicate === "reject" ? {} : duplicate) }),
    ...time,
    body: json.value,
    ...readOptions(options),
  };
}

type Filed = { readonly job: JobJson } | { readonly error: unknown };

function useFiling() {
  const [answer, setAnswer] = useState<Filed | undefined>();
  const [isFiling, setFiling] = useState(false);

  async function file(job: NewJob): Promise<void> {
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

  return { file, answer, isFiling };
}

type KeyProps = { readonly fields: Fields; readonly change: (changed: Partial<Fields>) => void };

function KeyFields({ fields: { key, onDuplicate, maxDelay }, change }: KeyProps) {
  return (
    <>
      <div class="field">
        <label>
          Key (optional)
          <input
            value={key}
            placeholder="order-17"
            onInput={(event) => change({ key: event.currentTarget.value })}
          />
        </label>
      </div>
      {key !== "" && (
        <div class="field">
          <DuplicateField value={onDuplicate} onChange={(name) => change({ onDuplicate: name })} />
          {onDuplicate === "postpone" && (
            <label>
              At most this long after its first enqueue
              <input value={maxDelay} onInput={(event) => change({ maxDelay: event.currentTarget.value })} />
            </label>
          )}
        </div>
      )}
    </>
  );
}

type DuplicateProps = {
  readonly value: Fields["onDuplicate"];
  readonly onChange: (name: Fields["onDuplicate"]) => void;
};

function DuplicateField({ value, onChange }: DuplicateProps) {
  return (
    <label>
      If a live job has this key
      <select
        value={value}
        onChange={(event) => onChange(event.currentTarget.value as Fields["onDuplicate"])}
      >
        {Object.entries(DUPLICATES).map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

type PreviewProps = { readonly topic: string; readonly fields: Fields; readonly job: NewJob | undefined };

function Preview({ topic, fields, job }: PreviewProps) {
  const due = readTime(fields.when, now.value, zone.value);
  if (job === undefined || !("at" in due)) {
    const wrong = [
      ...("at" in due ? [] : ["the time"]),
      ...("value" in readJson(fields.body) ? [] : ["the body"]),
    ];
    return <p>Mend {wrong.join(" and ")} first.</p>;
  }
  return (
    <p>
      This files one job of <strong>{topic}</strong>, due <Time at={Math.max(due.at, now.value)} />.
    </p>
  );
}

function SameCall({ job }: { job: NewJob | undefined }) {
  return (
    <div>
      <h2>The same call as curl</h2>
      <Copied name="curl command" text={job && curlText(job, apiUrl, about.auth)} />
      <h2>The same call as TypeScript</h2>
      <Copied name="TypeScript" text={job && typescriptText(job, apiUrl, about.auth)} />
    </div>
  );
}

const OUTCOMES: Readonly<Record<string, string>> = {
  created: "Filed",
  kept: "Kept the live job",
  replaced: "Replaced the live job",
  postponed: "Postponed the live job",
  replayed: "Filed already",
};

function Answer({ answer }: { answer: Filed }) {
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
