import { useId, useRef } from "preact/hooks";
import { REASON_CHARS } from "../../../src/core/constants.ts";

/** The option of a call that says why it changes something. Empty if the user gave no reason. */
export type Why = { readonly reason?: string };

export function whyOf(text: string): Why {
  const reason = text.trim();
  return reason === "" ? {} : { reason };
}

type Props = { readonly value: string; readonly onChange: (text: string) => void };

/** The field is folded, because most changes need no reason. */
export function ReasonField({ value, onChange }: Props) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  return (
    <details class="field" onToggle={({ currentTarget }) => currentTarget.open && field.current?.focus()}>
      <summary>Add a reason</summary>
      <label for={`${id}-field`}>Reason</label>
      <input
        ref={field}
        id={`${id}-field`}
        value={value}
        maxLength={REASON_CHARS}
        aria-describedby={id}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <p id={id} class="quiet">
        At most {REASON_CHARS} characters. It is shown with the change.
      </p>
    </details>
  );
}
