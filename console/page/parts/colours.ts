/** Answers the present colour of a custom property of the style sheet, for canvases, which do not read style sheets. */
export function colourOf(property: `--${string}`): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${property})`;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
