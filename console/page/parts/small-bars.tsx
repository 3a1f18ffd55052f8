const HEIGHT = 20;
const STEP = 6;
/** A few jobs must be seen too. */
const LEAST_HEIGHT = 2;

type Props = {
  readonly counts: readonly number[];
  /** What the bars show, for those who do not see them. */
  readonly label: string;
};

/** Bars in a line of text, as tall as the largest number allows. */
export function SmallBars({ counts, label }: Props) {
  const most = Math.max(1, ...counts);
  const width = counts.length * STEP;
  return (
    <svg class="small-bars" viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={label}>
      <title>{label}</title>
      {counts.map((count, place) => {
        const height = count === 0 ? 0 : Math.max((count / most) * HEIGHT, LEAST_HEIGHT);
        return <rect key={place} x={place * STEP} y={HEIGHT - height} width={STEP - 1} height={height} />;
      })}
    </svg>
  );
}
