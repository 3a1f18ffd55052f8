import { jsonText, withVisibleMarks } from "../direction.ts";
import { durationText } from "../times.ts";
import { addresses } from "./search.ts";
import { Time } from "./time.tsx";

type Props = {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly without: readonly string[];
};

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const DURATIONS = ["expiresAfter", "spread", "flexibleWindow"];

/** All fields of an answer except those in `without`, so that a new field of the API appears without a change here. */
export function Facts({ fields, without }: Props) {
  const others = Object.entries(fields).filter(([name]) => !without.includes(name));
  return (
    <section aria-labelledby="facts-title">
      <h2 id="facts-title">Facts</h2>
      <dl class="facts">
        {others.map(([name, value]) => (
          <div key={name}>
            <dt>{name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}</dt>
            <dd>
              <Fact name={name} value={value} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Fact({ name, value }: { name: string; value: unknown }) {
  if (typeof value === "string" && ISO_TIME.test(value)) return <Time at={value} />;
  if (typeof value === "number" && DURATIONS.includes(name)) return <>{durationText(value * 1000)}</>;
  const text = withVisibleMarks(String(value));
  if (name === "tag" || name === "group") return <a href={addresses.labelled(name, String(value))}>{text}</a>;
  if (typeof value === "object") return <code>{jsonText(value)}</code>;
  return <>{text}</>;
}
