import { withVisibleMarks } from "../direction.ts";

/** A text of a job, as it is. A long text scrolls, also with the arrow keys. `label`: what the text is, for those who do not see it. */
export function TextBlock({ text, label }: { text: string; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: whoever has no pointer scrolls a long text with the arrow keys
    <section class="text-block" aria-label={label} tabIndex={0}>
      <pre class="text">{withVisibleMarks(text)}</pre>
    </section>
  );
}
