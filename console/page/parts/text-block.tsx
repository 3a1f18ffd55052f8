import { withVisibleMarks } from "../direction.ts";

export function TextBlock({ text, label }: { text: string; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: whoever has no pointer scrolls a long text with the arrow keys
    <section class="text-block" aria-label={label} tabIndex={0}>
      <pre class="text">{withVisibleMarks(text)}</pre>
    </section>
  );
}
