import type { Command } from "commander";
import type { EraseResult } from "../../client/answers.ts";
import type { EraseRequest } from "../../client/options.ts";
import { REASON } from "../arguments.ts";
import { UsageError } from "../cli-error.ts";
import { many } from "../columns.ts";
import { examples } from "../examples.ts";
import { addOptionFilters } from "../job-options.ts";
import { changeSome, type Way } from "../many.ts";
import { addCaution, type Caution } from "../selection.ts";
import type { Open } from "../session.ts";

type Which = Pick<EraseRequest, "topic" | "tag" | "group" | "keyPrefix">;
type Flags = Which & Caution & Pick<EraseRequest, "cursor" | "reason">;

/** The flag of each way to name jobs. */
const FLAGS: Readonly<Record<keyof Which, string>> = {
  topic: "topic",
  tag: "tag",
  group: "group",
  keyPrefix: "key prefix",
};

export function addErase(program: Command, open: Open): void {
  const command = program
    .command("erase")
    .description("delete jobs of any state and time, with their bodies, headers, keys and errors")
    .option("--topic <topic>", "only jobs of this topic")
    .option("--key-prefix <text>", "only jobs whose key begins so")
    .option(...REASON);
  addCaution(addOptionFilters(command)).action(async (flags: Flags) => {
    const { dryRun, yes, ...request } = flags;
    const { cursor: _, reason: __, ...which } = request;
    if (Object.keys(which).length === 0)
      throw new UsageError("name the jobs: give --tag, --group, --topic or --key-prefix");
    const caution = { ...(dryRun && { dryRun }), ...(yes && { yes }) };
    return changeSome(open(), wayOf(request, which), request, caution);
  });
  command.addHelpText(
    "after",
    `
The command reads the whole table, because tags have no index. Without --yes it reads it twice. A job that
runs is left: run the command again later, until the dry run finds no job.`,
  );
  examples(command, [
    "minutehand erase --tag customer-42 --dry-run",
    "minutehand erase --tag customer-42 --yes",
    "minutehand erase --topic order-timeout --key-prefix customer-42:",
  ]);
}

function wayOf(request: EraseRequest, which: Which): Way<EraseRequest, EraseResult> {
  const said = Object.entries(which).map(([name, value]) => `${FLAGS[name as keyof Which]} ${value}`);
  return {
    verb: "erase",
    done: "erased",
    flags: () => "",
    hint: "; run the command again later",
    call: (api, asked, onProgress) => api.erase(asked, onProgress),
    jobs: (count) => `${many(count)} of ${said.join(" and ")}`,
    warning: () => "",
    reached: ({ cursor, examined }) => (cursor === undefined ? undefined : `${many(examined)} read`),
    asCounted: () => request,
  };
}
