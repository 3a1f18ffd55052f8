export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].map((cells) => cells.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = head.map((_, column) => Math.max(3, ...lines.map((cells) => (cells[column] ?? "").length)));
  const padded = lines.map((cells) => widths.map((width, column) => (cells[column] ?? "").padEnd(width)));
  const rule = widths.map((width) => "-".repeat(width));
  const [first = [], ...others] = padded;
  return [first, rule, ...others].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

export function code(text: string): string {
  return text === "" ? "" : `\`${text}\``;
}

const PLACE = /(<!-- table: ([a-z-]+) -->\n)[\s\S]*?(<!-- \/table -->)/g;

/** Writes each table into its place in a page. Throws if the table of a place does not exist. */
export function fillTables(page: string, tables: Readonly<Record<string, () => string>>): string {
  return page.replace(PLACE, (_, begin: string, name: string, end: string) => {
    const make = tables[name];
    if (!make)
      throw new Error(`a page has a place for the table "${name}", which tools/site/tables.ts does not name`);
    return `${begin}\n${make()}\n\n${end}`;
  });
}

export function tablesIn(page: string): string[] {
  return [...page.matchAll(PLACE)].map(([, , name = ""]) => name);
}
