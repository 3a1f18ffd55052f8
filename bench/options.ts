import { parseArgs } from "node:util";

export type BenchOptions = {
  readonly help: boolean;
  readonly quick: boolean;
  readonly only: readonly string[];
};

/** Parses the command line. `known`: the names that `--only` accepts. Throws an `Error` for unknown options and names. */
export function parseCommandLine(args: readonly string[], known: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: "boolean" },
      quick: { type: "boolean" },
      only: { type: "string", multiple: true },
    },
  });
  const only = (values.only ?? []).flatMap((names) => names.split(","));
  for (const name of only) {
    if (!known.includes(name)) throw new Error(`--only must name one of ${known.join(", ")}, got "${name}"`);
  }
  return { help: values.help ?? false, quick: values.quick ?? false, only };
}

export function helpText(figures: readonly { name: string; what: string }[]): string {
  const width = Math.max(...figures.map(({ name }) => name.length));
  return `npm run bench -- [--only NAME[,NAME]] [--quick]

Starts a new embedded stack in memory, on ports of its own, and prints a Markdown table. It compares Minutehand with the
ceiling: what a plain AWS SDK client reaches on the same emulators in the same run.

  --only NAME[,NAME]  only these figures; without it all figures except list, in less than 6 minutes
  --quick             smaller counts, to try out the program: its numbers mean little
  --help              this text

Figures:
${figures.map(({ name, what }) => `  ${name.padEnd(width)}  ${what}`).join("\n")}
`;
}
