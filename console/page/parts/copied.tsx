import { useState } from "preact/hooks";
import { messageOf } from "../../../src/core/errors.ts";
import { directedParts } from "../direction.ts";

export function Copied({ text, name }: { text: string | undefined; name: string }) {
  const [said, setSaid] = useState("");
  const parts = directedParts(text ?? "…");
  async function copy(): Promise<void> {
    if (text === undefined) return;
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
      <section class="scrolled" tabIndex={0} aria-label={`Text of the ${name}`}>
        <pre class="text">
          {/* The quotes and the escapes of a string stand from left to right, also if its words do not. */}
          {parts.map((part, index) =>
            index % 2 === 0 ? (
              part
            ) : (
              <bdi key={index} dir="ltr">
                {part}
              </bdi>
            ),
          )}
        </pre>
      </section>
      <button type="button" disabled={text === undefined} onClick={() => void copy()}>
        Copy the {name}
      </button>{" "}
      <span role="status">{said}</span>
    </div>
  );
}
