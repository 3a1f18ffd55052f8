import type { Command } from "commander";

/** Adds example command lines at the end of a command's `--help`. */
export function examples(command: Command, lines: readonly string[]): void {
  command.addHelpText("after", `\nExamples:\n${lines.map((line) => `  $ ${line}`).join("\n")}`);
}
