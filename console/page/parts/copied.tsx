import { useState } from "preact/hooks";
import { messageOf } from "../../../core/errors.ts";

/** A text with a button that copies it. `name`: what the text is, such as `body`. */
export function Copied({ text, name }: { text: string; name: string }) {
  const [said, setSaid] = useState("");
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      setSaid("Copied.");
    } catch (error) {
      setSaid(`Cannot copy: ${messageOf(error)}`);
    }
  }
  return (
    <div class="copied">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: whoever has no pointer scrolls the text with the arrow keys */}
      <section class="scrolled" tabIndex={0} aria-label={name}>
        <pre class="text">{text}</pre>
      </section>
      <button type="button" onClick={() => void copy()}>
        Copy the {name}
      </button>{" "}
      <span role="status">{said}</span>
    </div>
  );
}
