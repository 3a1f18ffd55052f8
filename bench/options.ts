import { parseArgs } from "node:util";

export type BenchOptions = {
  readonly help: boolean;
  readonly quick: boolean;
  readonly only: readonly string[];
};

/** What the command line asks for. `known`: the names that `--only` may say. Throws an `Error` for anything else. */
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

Starts the embedded stack afresh, in memory and on ports of its own, and prints a Markdown table: what
Minutehand does beside what the emulators allow a plain AWS SDK client in the same run.

  --only NAME[,NAME]  only these figures; without it all of them but list, in less than 6 minutes
  --quick             smaller counts, to try it out: its numbers mean little
  --help              this text

Figures:
${figures.map(({ name, what }) => `  ${name.padEnd(width)}  ${what}`).join("\n")}
`;
}
