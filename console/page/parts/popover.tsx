import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

type Props = {
  /** What stands in the button. */
  readonly button: ComponentChildren;
  /** The name of the button, if its content is not one. */
  readonly label?: string;
  readonly title?: string;
  readonly look: "menu-button" | "word";
  readonly children: ComponentChildren;
};

/** A button that opens something beside it. A click elsewhere, Esc and the end of a dialog in it close it. */
export function Popover({ button, label, title, look, children }: Props) {
  const id = useId();
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The event of a dialog does not bubble.
    const hide = () => place.current?.hidePopover();
    place.current?.addEventListener("close", hide, { capture: true });
  }, []);
  return (
    <>
      <button type="button" class={look} aria-label={label} title={title} popovertarget={id}>
        {button}
      </button>
      <div ref={place} id={id} popover="auto" class="popover">
        {children}
      </div>
    </>
  );
}
