import { RATES } from "../../../src/core/constants.ts";
import { durationText } from "../times.ts";

type Props = {
  readonly value: string;
  readonly onChange: (text: string) => void;
  /** How many jobs will start. Absent while they are counted. */
  readonly jobs: number | undefined;
};

export function RateField({ value, onChange, jobs }: Props) {
  const rate = rateOf(value);
  const isWrong = rate !== undefined && !(rate >= RATES.lowest && rate <= RATES.highest);
  return (
    <div class="field">
      <label>
        At most this many starts in a second
        <input
          type="number"
          min={RATES.lowest}
          max={RATES.highest}
          step="any"
          value={value}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      </label>
      {isWrong ? (
        <p class="wrong" aria-live="polite">
          must be from {RATES.lowest} to {RATES.highest.toLocaleString("en")}
        </p>
      ) : (
        <p class="quiet" aria-live="polite">
          {rate === undefined
            ? "Empty: all start at once."
            : jobs !== undefined && `The starts take ${durationText((jobs / rate) * 1000)}.`}
        </p>
      )}
    </div>
  );
}

export function rateOf(text: string): number | undefined {
  return text === "" ? undefined : Number(text);
}
