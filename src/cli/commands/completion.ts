import { Argument, type Command, Option } from "commander";
import { printable } from "../../../local/printable.ts";
import { UsageError } from "../cli-error.ts";
import { completionsOf, SCRIPTS, TYPED } from "../completion.ts";
import { examples } from "../examples.ts";
import type { Open } from "../session.ts";

type Shell = keyof typeof SCRIPTS;

/** How the client reads the topics for a completion. It gives up soon, because a person waits for the completion. */
const IMPATIENT = { timeout: 1000, retries: 0 };

export function addCompletion(program: Command, open: Open): void {
  const command = program
    .command("completion")
    .description("print a script that lets a shell complete commands, options and topics")
    .addArgument(new Argument("[shell]").choices(Object.keys(SCRIPTS)))
    .addOption(new Option("--typed", `print the completions of the words in ${TYPED}`).hideHelp())
    .action(async (shell: Shell | undefined, { typed }: { typed?: true }) => {
      const { surroundings, output, client } = open();
      if (!typed) {
        if (shell === undefined) throw new UsageError("name the shell: bash, zsh or fish");
        return output.line(SCRIPTS[shell]);
      }
      const words = (surroundings.env[TYPED] ?? "").split("\n");
      const topics = async () => (await (await client(IMPATIENT)).topics()).map(({ topic }) => topic);
      const found = await completionsOf(program, words, topics);
      for (const word of found) await output.line(printable(word));
    });
  examples(command, [
    'eval "$(minutehand completion bash)"    # in ~/.bashrc',
    'eval "$(minutehand completion zsh)"     # in ~/.zshrc, after compinit',
    "minutehand completion fish | source     # in ~/.config/fish/config.fish",
  ]);
}
