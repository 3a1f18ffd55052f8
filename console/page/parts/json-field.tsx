import { useId, useRef } from "preact/hooks";
import { type ReadJson, readJson } from "../json-text.ts";
import "./json-field.css";

type Props = { readonly label: string; readonly value: string; readonly onChange: (text: string) => void };

const ROWS = 8;
/** Line numbers of a longer text would cost more than they help. */
const NUMBERED_LINES = 5000;

/** A field for JSON. The numbers of lines with mistakes are marked, and each mistake is a button that leads to its place. */
export function JsonField({ label, value, onChange }: Props) {
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const numbers = useRef<HTMLDivElement>(null);
  const mistakes = mistakesOf(readJson(value));
  const lines = value.split("\n");

  function goTo(line: number, column: number): void {
    const offset = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + column - 1;
    field.current?.focus();
    field.current?.setSelectionRange(offset, offset);
  }

  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="json-field">
        <div
          class="json-lines"
          ref={numbers}
          aria-hidden="true"
          style={{ height: `${field.current?.clientHeight ?? 0}px` }}
        >
          {lines.slice(0, NUMBERED_LINES).map((_, index) => (
            <div key={index} class={mistakes.some(({ line }) => line === index + 1) ? "wrong" : ""}>
              {index + 1}
            </div>
          ))}
        </div>
        <textarea
          id={id}
          ref={field}
          rows={ROWS}
          spellcheck={false}
          value={value}
          aria-invalid={mistakes.length > 0}
          aria-describedby={`${id}-mistakes`}
          onInput={(event) => onChange(event.currentTarget.value)}
          onScroll={(event) => {
            if (numbers.current) numbers.current.scrollTop = event.currentTarget.scrollTop;
          }}
        />
      </div>
      <div id={`${id}-mistakes`} aria-live="polite">
        {mistakes.slice(0, 3).map(({ line, column, text }) => (
          <p key={`${line}:${column}`} class="wrong">
            <button type="button" onClick={() => goTo(line, column)}>
              Line {line}, column {column}
            </button>{" "}
            {text}
          </p>
        ))}
      </div>
    </div>
  );
}

function mistakesOf(read: ReadJson) {
  return "mistakes" in read ? read.mistakes : [];
}
