/** A field for how many jobs may start in a second. */
export function RateField({ value, onChange }: { value: string; onChange: (text: string) => void }) {
  return (
    <div class="field">
      <label>
        At most this many starts in a second (empty: all at once)
        <input
          type="number"
          min="0.1"
          step="any"
          value={value}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      </label>
    </div>
  );
}

/** The rate that a field's text says. `undefined`: no rate. */
export function rateOf(text: string): number | undefined {
  return text === "" ? undefined : Number(text);
}
