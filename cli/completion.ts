import type { Command, Option } from "commander";

/** The words that were typed, a line each, the one to complete last; scripts tell them so. */
export const TYPED = "MINUTEHAND_TYPED";

/** What each shell evaluates. They know nothing of the commands: they ask the program, each time. */
export const SCRIPTS = {
  bash: `_minutehand() {
  local IFS=$'\\n'
  COMPREPLY=($(${TYPED}="\${COMP_WORDS[*]:1:COMP_CWORD}" minutehand completion --typed 2>/dev/null))
}
complete -o default -F _minutehand minutehand`,
  zsh: `_minutehand() {
  local -a found
  found=("\${(@f)$(${TYPED}="\${(@pj:\\n:)words[2,CURRENT]}" minutehand completion --typed 2>/dev/null)}")
  compadd -a found
}
compdef _minutehand minutehand`,
  fish: `function __minutehand
  set -lx ${TYPED} "$(commandline -opc | tail -n +2)"\\n"$(commandline -ct)"
  minutehand completion --typed 2>/dev/null
end
complete -c minutehand -f -a '(__minutehand)'`,
};

/** Which words may stand in the last one's place. `topics` is called where a topic may. */
export async function completionsOf(
  program: Command,
  typed: readonly string[],
  topics: () => Promise<readonly string[]>,
): Promise<string[]> {
  const before = typed.slice(0, -1);
  const last = typed.at(-1) ?? "";
  let command = program;
  for (const word of before) command = command.commands.find((sub) => sub.name() === word) ?? command;
  const options = command === program ? program.options : [...command.options, ...program.options];
  const words = await wordsFor(command, options, before.at(-1), last, topics);
  return words.filter((word) => word.startsWith(last));
}

async function wordsFor(
  command: Command,
  options: readonly Option[],
  previous: string | undefined,
  last: string,
  topics: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const option = options.find(({ long }) => long === previous);
  if (option?.long === "--topic") return topics();
  if (option?.argChoices) return option.argChoices;
  if (option?.required) return [];
  if (last.startsWith("-")) {
    return [...options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? ""), "--help"];
  }
  if (command.commands.length > 0) return command.commands.map((sub) => sub.name());
  const [first] = command.registeredArguments;
  if (first?.name() === "topic") return topics();
  return first?.argChoices ?? [];
}
