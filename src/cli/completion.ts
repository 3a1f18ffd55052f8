import type { Command, Option } from "commander";

/** The variable in which a shell's script passes the typed words, one word per line. The last word is to be completed. */
export const TYPED = "MINUTEHAND_TYPED";

/** They have no list of commands: they ask the program at each completion, and complete file names if it answers no word. */
export const SCRIPTS = {
  bash: `_minutehand() {
  local IFS=$'\\n'
  COMPREPLY=($(${TYPED}="\${COMP_WORDS[*]:1:COMP_CWORD}" minutehand completion --typed 2>/dev/null))
}
complete -o default -F _minutehand minutehand`,
  zsh: `_minutehand() {
  local -a found
  found=("\${(@f)$(${TYPED}="\${(@pj:\\n:)words[2,CURRENT]}" minutehand completion --typed 2>/dev/null)}")
  if [[ -n $found[1] ]]; then compadd -a found; else _files; fi
}
compdef _minutehand minutehand`,
  fish: `function __minutehand
  set -lx ${TYPED} "$(commandline -opc | tail -n +2)"\\n"$(commandline -ct)"
  set -l found (minutehand completion --typed 2>/dev/null)
  if set -q found[1]
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c minutehand -f -a '(__minutehand)'`,
};

/** The words that can complete the last typed word. `topics` is called if that word can be a topic. */
export async function completionsOf(
  program: Command,
  typed: readonly string[],
  topics: () => Promise<readonly string[]>,
): Promise<string[]> {
  const last = typed.at(-1) ?? "";
  const optionsOf = (command: Command) =>
    command === program ? program.options : [...command.options, ...program.options];
  let command = program;
  let option: Option | undefined;
  for (const word of typed.slice(0, -1)) {
    if (option !== undefined) option = undefined;
    else {
      command = command.commands.find((sub) => sub.name() === word) ?? command;
      option = optionsOf(command).find(({ long, required }) => long === word && required);
    }
  }
  const words = option
    ? await valuesOf(option, topics)
    : await wordsFor(command, optionsOf(command), last, topics);
  return words.filter((word) => word.startsWith(last));
}

async function valuesOf(
  { long, argChoices }: Option,
  topics: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  return long === "--topic" ? topics() : (argChoices ?? []);
}

async function wordsFor(
  command: Command,
  options: readonly Option[],
  last: string,
  topics: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  if (last.startsWith("-")) {
    return [...options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? ""), "--help"];
  }
  if (command.commands.length > 0) return command.commands.map((sub) => sub.name());
  const [first] = command.registeredArguments;
  if (first?.name() === "topic") return topics();
  return first?.argChoices ?? [];
}
