import { useState } from "preact/hooks";
import { messageOf } from "../../../src/core/errors.ts";
import type { ScheduleJson } from "../../../src/http/answers/schedules.ts";
import { call } from "../api.ts";
import { jsonText } from "../direction.ts";
import { OPTION_NAMES, type OptionTexts, optionTexts, readOptions } from "../job-fields.ts";
import { readJson } from "../json-text.ts";
import { useTopics } from "../reads.ts";
import { occurrencesOf, wordsOf } from "../schedule-words.ts";
import { now, zone } from "../state.ts";
import { readTime } from "../time-words.ts";
import { ZONES } from "../times.ts";
import { Action } from "./action.tsx";
import { Choice } from "./choice.tsx";
import { JsonField } from "./json-field.tsx";
import { OptionFields } from "./option-fields.tsx";
import { addresses } from "./search.ts";
import { Time } from "./time.tsx";
import { TimeField } from "./time-field.tsx";
import { TopicField } from "./topic-field.tsx";

type Props = {
  readonly label: string;
  readonly schedule?: ScheduleJson;
};

export function ScheduleForm({ label, schedule }: Props) {
  const topics = useTopics();
  const [written, setFields] = useState(fieldsOf(schedule));
  const fields = { ...written, topic: written.topic || topics.data?.[0]?.topic || "" };
  const change = (changed: Partial<Fields>) => setFields({ ...written, ...changed });
  const preview = previewOf(fields, schedule);
  const sent = readFields(fields);
  async function run() {
    if (sent === undefined) throw new Error("a field of the schedule is wrong");
    const path = `/schedules/${encodeURIComponent(fields.name)}`;
    await call<ScheduleJson>("PUT", path, { name: "string" }, { body: sent });
    return {
      text: `${schedule ? "Changed" : "Created"} the schedule ${fields.name}.`,
      href: addresses.schedule(fields.name),
      link: "Show the schedule",
    };
  }
  return (
    <Action
      label={label}
      title={schedule ? `Edit ${schedule.name}` : "New schedule"}
      confirm={schedule ? "Save the schedule" : "Create the schedule"}
      isReady={fields.name !== "" && "occurrences" in preview && sent !== undefined}
      onOpen={() => setFields(fieldsOf(schedule))}
      run={run}
    >
      {schedule === undefined && <NameField name={fields.name} change={change} />}
      <TimesFields fields={fields} preview={preview} change={change} />
      <TopicField value={fields.topic} onChange={(topic) => change({ topic })} />
      <JsonField label="Body of its jobs (JSON)" value={fields.body} onChange={(body) => change({ body })} />
      <BoundsFields fields={fields} change={change} />
      <OptionFields texts={fields.options} onChange={(options) => change({ options })} />
    </Action>
  );
}

type FieldsProps = { readonly fields: Fields; readonly change: (changed: Partial<Fields>) => void };

function NameField({ name, change }: Pick<FieldsProps, "change"> & { name: string }) {
  return (
    <div class="field">
      <label>
        Name
        <input value={name} onInput={(event) => change({ name: event.currentTarget.value.trim() })} />
      </label>
      <p class="quiet">A schedule that has this name already is replaced.</p>
    </div>
  );
}

function TimesFields({ fields, preview, change }: FieldsProps & { preview: PreviewOf }) {
  return (
    <>
      <div class="field">
        <label>
          Expression
          <input
            value={fields.expression}
            placeholder="0 9 * * 1-5, @daily, cron(0 9 ? * MON-FRI *), rate(10 minutes) or at(2027-03-01T09:00:00)"
            onInput={(event) => change({ expression: event.currentTarget.value })}
          />
        </label>
        <div aria-live="polite">
          <Preview preview={preview} />
        </div>
      </div>
      <div class="field">
        <Choice
          label="Time zone"
          value={fields.timezone}
          options={ZONES.includes(fields.timezone) ? ZONES : [fields.timezone, ...ZONES]}
          onChange={(timezone) => change({ timezone })}
        />
      </div>
    </>
  );
}

function BoundsFields({ fields, change }: FieldsProps) {
  return (
    <>
      <TimeField
        label="Not before (optional)"
        isOptional
        value={fields.start}
        onChange={(start) => change({ start })}
      />
      <TimeField
        label="Not after (optional)"
        isOptional
        value={fields.end}
        onChange={(end) => change({ end })}
      />
      <div class="field">
        <label>
          Flexible window (optional, such as 15m)
          <input
            value={fields.flexibleWindow}
            onInput={(event) => change({ flexibleWindow: event.currentTarget.value.trim() })}
          />
        </label>
        <p class="quiet">An occurrence then files its job at some time within the window.</p>
      </div>
    </>
  );
}

function readFields(fields: Fields) {
  const body = readJson(fields.body);
  const [start, end] = [fields.start, fields.end].map((words) => readTime(words, now.value, zone.value));
  const isWrong = (read: ReturnType<typeof readTime> | undefined, words: string) =>
    read !== undefined && "error" in read && words !== "";
  if (!("value" in body) || isWrong(start, fields.start) || isWrong(end, fields.end)) return undefined;
  return {
    expression: fields.expression.trim(),
    timezone: fields.timezone,
    ...(start && "at" in start && { start: new Date(start.at).toISOString() }),
    ...(end && "at" in end && { end: new Date(end.at).toISOString() }),
    ...(fields.flexibleWindow && { flexibleWindow: fields.flexibleWindow }),
    topic: fields.topic,
    body: body.value,
    ...readOptions(fields.options),
  };
}

type Fields = {
  readonly name: string;
  readonly expression: string;
  readonly timezone: string;
  readonly topic: string;
  readonly body: string;
  readonly start: string;
  readonly end: string;
  readonly flexibleWindow: string;
  readonly options: OptionTexts;
};

function fieldsOf(schedule: ScheduleJson | undefined): Fields {
  return {
    name: schedule?.name ?? "",
    expression: schedule?.expression ?? "",
    timezone: schedule?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    topic: schedule?.topic ?? "",
    body: schedule ? jsonText(schedule.body, 2) : "{}",
    start: schedule?.start ?? "",
    end: schedule?.end ?? "",
    flexibleWindow: schedule?.flexibleWindow === undefined ? "" : `${schedule.flexibleWindow}s`,
    options: schedule
      ? optionTexts(Object.fromEntries(OPTION_NAMES.map((name) => [name, schedule[name]])))
      : {},
  };
}

type PreviewOf =
  | { readonly words: string; readonly occurrences: readonly number[] }
  | { readonly error: string };

function previewOf(
  { expression, timezone, start, end }: Fields,
  schedule: ScheduleJson | undefined,
): PreviewOf {
  const bound = (words: string) => {
    const read = readTime(words, now.value, zone.value);
    return "at" in read ? new Date(read.at).toISOString() : undefined;
  };
  const [from, to] = [bound(start), bound(end)];
  // The API counts a rate from its start, or from the next full minute.
  const nextMinute = from ? Date.parse(from) : Math.ceil(now.value / 60_000) * 60_000;
  const occurring = {
    expression: expression.trim(),
    timezone,
    next: schedule?.expression === expression.trim() ? schedule.next : [new Date(nextMinute).toISOString()],
    ...(from && { start: from }),
    ...(to && { end: to }),
  };
  try {
    const words = wordsOf(occurring.expression, timezone);
    return { words, occurrences: occurrencesOf(occurring, now.value, Number.POSITIVE_INFINITY, 5) };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

function Preview({ preview }: { preview: PreviewOf }) {
  if ("error" in preview) return <p class="wrong">{preview.error}</p>;
  return (
    <>
      <p>{preview.words}</p>
      <ol class="quiet">
        {preview.occurrences.map((at) => (
          <li key={at}>
            <Time at={at} />
          </li>
        ))}
      </ol>
      {preview.occurrences.length === 0 && <p class="wrong">The schedule would never occur.</p>}
    </>
  );
}
