import type { Command } from "commander";

/** Ends a command's `--help` with lines that can be typed. */
export function examples(command: Command, lines: readonly string[]): void {
  command.addHelpText("after", `\nExamples:\n${lines.map((line) => `  $ ${line}`).join("\n")}`);
}
