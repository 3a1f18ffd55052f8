import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Command, Option } from "commander";
import { expect, test } from "vitest";
import { createProgram } from "../../cli/program.ts";

const TEXT = readFileSync(fileURLToPath(new URL("../../docs/cli.md", import.meta.url)), "utf8");

const program = createProgram({ stdout: {}, stderr: {} } as never, () => {
  throw new Error("no command is run");
});
const leaves = (command: Command): Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
const pathOf = (command: Command): string =>
  command.parent?.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
const isShown = ({ hidden }: Option) => !hidden;

/** The cells of all rows of the tables whose first column has this head. */
function table(head: string): string[][] {
  const cells = (line: string) =>
    line
      .slice(1, -1)
      .replaceAll("\\|", "¦")
      .split("|")
      .map((cell) => cell.replaceAll("¦", "|").trim());
  const [, ...rows] = TEXT.split(/\n\n/)
    .filter((block) => block.startsWith("|") && cells(block.split("\n")[0] ?? "")[0] === head)
    .flatMap((block) =>
      block
        .split("\n")
        .map(cells)
        .filter((_, i) => i !== 1),
    );
  return rows;
}

test("the table of commands has what --help says of each", () => {
  const commands = leaves(program).map((command) => {
    const args = command.registeredArguments.map((argument) => {
      const name = argument.variadic ? `${argument.name()}...` : argument.name();
      return argument.required ? ` <${name}>` : ` [${name}]`;
    });
    const options = command.options.filter(isShown).map(({ flags }) => `\`${flags}\``);
    return [`\`${pathOf(command)}${args.join("")}\``, command.description(), options.join(" ")];
  });
  expect(table("command")).toEqual(commands);
});

test("the table of options has what every command takes", () => {
  const options = program.options.map(({ flags, description }) => [
    `\`${flags.replace("-V, ", "")}\``,
    description,
  ]);
  expect(table("option")).toEqual(options);
});

test("what is shown can be typed", () => {
  const typed = [...TEXT.matchAll(/^(?:.*\| )?minutehand (.*)$/gm)].map(([, line = ""]) => line);
  expect(typed.length).toBeGreaterThan(10);
  for (const line of typed) {
    const [words = ""] = line.split(/ # | \| /);
    const [first = "", second = ""] = words.split(" ");
    const command = program.commands.find((sub) => sub.name() === first);
    const leaf = command?.commands.find((sub) => sub.name() === second) ?? command;
    const known = [...program.options, ...(leaf?.options ?? [])].map(({ long }) => long);
    const used = [...words.matchAll(/ (--[a-z-]+)/g)].map(([, flag]) => flag);
    expect({ line, first: command?.name() }).toEqual({ line, first });
    expect(
      used.filter((flag) => !known.includes(flag)),
      line,
    ).toEqual([]);
  }
});
