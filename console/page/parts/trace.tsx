import { withVisibleMarks } from "../direction.ts";
import { partsOf } from "../trace-parts.ts";

/** A stack trace, with the frames of packages folded. */
export function Trace({ text, label }: { text: string; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: whoever has no pointer scrolls a long text with the arrow keys
    <section class="text-block trace" aria-label={label} tabIndex={0}>
      {partsOf(text).map(({ isOfPackages, lines }, index) => {
        const shown = <pre class="text">{withVisibleMarks(lines.join("\n"))}</pre>;
        if (!isOfPackages) return <div key={index}>{shown}</div>;
        return (
          <details key={index}>
            <summary>
              {lines.length === 1 ? "1 frame" : `${lines.length} frames`} of packages and Node.js
            </summary>
            {shown}
          </details>
        );
      })}
    </section>
  );
}
