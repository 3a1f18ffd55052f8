/** Leaves keys alone that the user types into a field, or while a dialog is open. */
export function unlessTyping(act: () => void) {
  return (event: KeyboardEvent) => {
    const target = event.target as HTMLElement;
    if (/^(input|textarea|select)$/i.test(target.tagName) || target.isContentEditable) return;
    if (document.querySelector("dialog[open]") !== null) return;
    event.preventDefault();
    act();
  };
}
