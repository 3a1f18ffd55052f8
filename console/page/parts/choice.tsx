import type { ComponentChildren } from "preact";

type Props = {
  readonly label: ComponentChildren;
  readonly value: string;
  readonly options: readonly string[];
  readonly onChange: (value: string) => void;
  /** The text of a first choice that stands for no value, such as `all topics`. */
  readonly none?: string | undefined;
};

export function Choice({ label, value, options, onChange, none }: Props) {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {none !== undefined && <option value="">{none}</option>}
        {options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  );
}
