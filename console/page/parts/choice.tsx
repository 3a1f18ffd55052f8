import type { ComponentChildren } from "preact";

type Props = {
  readonly label: ComponentChildren;
  readonly value: string;
  readonly options: readonly string[];
  readonly onChange: (value: string) => void;
  /** The text of a first choice that stands for no value, such as `all topics`. */
  readonly none?: string | undefined;
  /** The text of a choice. Default: the choice itself. */
  readonly textOf?: (option: string) => string;
};

export function Choice({ label, value, options, onChange, none, textOf = String }: Props) {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {none !== undefined && <option value="">{none}</option>}
        {options.map((option) => (
          <option key={option} value={option}>
            {textOf(option)}
          </option>
        ))}
      </select>
    </label>
  );
}
