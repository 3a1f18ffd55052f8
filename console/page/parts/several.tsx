import { useEffect, useState } from "preact/hooks";
import type { Asked } from "../bulk-calls.ts";

/** Which jobs an action is for: those of some topics in one range. */
export type Which = {
  readonly topics: readonly string[];
  readonly tag?: string;
  readonly group?: string;
  readonly from?: string;
  readonly to?: string;
};

/** Texts with one tag or one group in each line. An empty text: any. */
export type Labels = { readonly tags: string; readonly groups: string };

/** One line for each topic, tag and group. */
export function whichLines({ topics, from, to }: Which, { tags, groups }: Labels): Asked[] {
  const range = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
  return topics.flatMap((topic) =>
    labelsIn(tags).flatMap((tag) =>
      labelsIn(groups).map((group) => ({
        topic,
        ...(tag === undefined ? {} : { tag }),
        ...(group === undefined ? {} : { group }),
        ...range,
      })),
    ),
  );
}

function labelsIn(text: string): (string | undefined)[] {
  const found = new Set(text.split("\n").flatMap((line) => line.trim() || []));
  return found.size === 0 ? [undefined] : [...found];
}

type Props = { readonly labels: Labels; readonly onChange: (labels: Labels) => void };

/** Lets the user name further tags and groups, whose jobs are counted too. */
export function Several({ labels, onChange }: Props) {
  return (
    <details class="field">
      <summary>Several tags or groups</summary>
      <div class="columns">
        <LabelField name="Tags" value={labels.tags} onChange={(tags) => onChange({ ...labels, tags })} />
        <LabelField
          name="Groups"
          value={labels.groups}
          onChange={(groups) => onChange({ ...labels, groups })}
        />
      </div>
    </details>
  );
}

type FieldProps = {
  readonly name: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
};

/** The jobs are counted again when the user has left the field, and not at each letter. */
function LabelField({ name, value, onChange }: FieldProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  return (
    <label>
      {name}, one a line (empty: any)
      <textarea
        rows={3}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}
