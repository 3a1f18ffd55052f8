import { parseArgs } from "node:util";

export type BenchOptions = {
  readonly help: boolean;
  readonly quick: boolean;
  /** Whether all figures are measured, also the slow ones, and written into their page. */
  readonly write: boolean;
  readonly only: readonly string[];
};

export function parseCommandLine(args: readonly string[], known: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: "boolean" },
      quick: { type: "boolean" },
      only: { type: "string", multiple: true },
      write: { type: "boolean" },
    },
  });
  const only = (values.only ?? []).flatMap((names) => names.split(","));
  for (const name of only) {
    if (!known.includes(name)) throw new Error(`--only must name one of ${known.join(", ")}, got "${name}"`);
  }
  const { help = false, quick = false, write = false } = values;
  if (write && (quick || only.length > 0))
    throw new Error("--write measures everything in full, so it takes neither --only nor --quick");
  return { help, quick, write, only };
}

export function helpText(figures: readonly { name: string; what: string }[]): string {
  const width = Math.max(...figures.map(({ name }) => name.length));
  return `npm run bench -- [--only NAME[,NAME]] [--quick] [--write]

Starts a new embedded stack in memory, on ports of its own, and prints a Markdown table. It compares Minutehand with the
ceiling: what a plain AWS SDK client reaches on the same emulators in the same run.

  --only NAME[,NAME]  only these figures; without it all figures except list, in less than 7 minutes
  --quick             smaller counts, to try out the program: its numbers mean little
  --write             all figures, with list, about 10 minutes; writes the table of docs/internals/benchmarks.md
  --help              this text

Figures:
${figures.map(({ name, what }) => `  ${name.padEnd(width)}  ${what}`).join("\n")}
`;
}
