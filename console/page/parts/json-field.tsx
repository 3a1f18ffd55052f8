import type { RefObject } from "preact";
import { useId, useRef } from "preact/hooks";
import { type ReadJson, readJson } from "../json-text.ts";

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

  function goTo({ line, column }: Mistake): void {
    const offset = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + column - 1;
    field.current?.focus();
    field.current?.setSelectionRange(offset, offset);
  }

  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="json-field">
        <LineNumbers place={numbers} field={field} count={lines.length} mistakes={mistakes} />
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
      <Mistakes id={`${id}-mistakes`} mistakes={mistakes} goTo={goTo} />
    </div>
  );
}

type Mistake = ReturnType<typeof mistakesOf>[number];

type NumbersProps = {
  readonly place: RefObject<HTMLDivElement>;
  readonly field: RefObject<HTMLTextAreaElement>;
  readonly count: number;
  readonly mistakes: readonly Mistake[];
};

function LineNumbers({ place, field, count, mistakes }: NumbersProps) {
  return (
    <div
      class="json-lines"
      ref={place}
      aria-hidden="true"
      style={{ height: `${field.current?.clientHeight ?? 0}px` }}
    >
      {Array.from({ length: Math.min(count, NUMBERED_LINES) }, (_, index) => (
        <div key={index} class={mistakes.some(({ line }) => line === index + 1) ? "wrong" : ""}>
          {index + 1}
        </div>
      ))}
    </div>
  );
}

type MistakesProps = {
  readonly id: string;
  readonly mistakes: readonly Mistake[];
  readonly goTo: (mistake: Mistake) => void;
};

function Mistakes({ id, mistakes, goTo }: MistakesProps) {
  return (
    <div id={id} aria-live="polite">
      {mistakes.slice(0, 3).map((mistake) => (
        <p key={`${mistake.line}:${mistake.column}`} class="wrong">
          <button type="button" onClick={() => goTo(mistake)}>
            Line {mistake.line}, column {mistake.column}
          </button>{" "}
          {mistake.text}
        </p>
      ))}
    </div>
  );
}

function mistakesOf(read: ReadJson) {
  return "mistakes" in read ? read.mistakes : [];
}
