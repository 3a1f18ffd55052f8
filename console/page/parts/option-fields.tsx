import { useId } from "preact/hooks";
import { JOB_OPTIONS, labelOf, OPTION_NAMES, type OptionTexts } from "../job-fields.ts";

type Props = { readonly texts: OptionTexts; readonly onChange: (texts: OptionTexts) => void };

export function OptionFields({ texts, onChange }: Props) {
  const id = useId();
  return (
    <details class="field">
      <summary>
        Options: {OPTION_NAMES.map((name) => labelOf(name).replace(/ \(.*/, "").toLowerCase()).join(", ")}
      </summary>
      {OPTION_NAMES.map((name) => {
        const described = `${id}-${name}`;
        const field = {
          id: `${described}-field`,
          value: texts[name] ?? "",
          "aria-describedby": described,
          onInput: (event: { currentTarget: { value: string } }) =>
            onChange({ ...texts, [name]: event.currentTarget.value }),
        };
        return (
          <div key={name} class="field">
            <label for={`${described}-field`}>{labelOf(name)}</label>
            {JOB_OPTIONS[name].kind === "headers" ? <textarea rows={2} {...field} /> : <input {...field} />}
            <p id={described} class="quiet">
              {JOB_OPTIONS[name].description}
            </p>
          </div>
        );
      })}
    </details>
  );
}
