import { type Command, Option } from "commander";
import type { WantedTable } from "../../aws/account.ts";
import { CliError } from "../cli-error.ts";
import { examples } from "../examples.ts";
import { type Caution, requireAnswer } from "../selection.ts";
import type { Open, Session } from "../session.ts";
import { tableOf } from "../stack-table.ts";
import { missingIn, tableFault, wordsOfMissing } from "../table-checks.ts";

type Flags = Caution & { table?: string };

const ABOUT = `
DynamoDB restores a backup into a new table, without these settings. First let it restore the backup:
the guide "Day two" says how. Afterwards give the table to the queue as table, and deploy.

The caller needs these rights on the table: dynamodb:DescribeTable, DescribeTimeToLive,
DescribeContinuousBackups and ListTagsOfResource, which are all that --dry-run needs, and
dynamodb:UpdateTimeToLive, UpdateContinuousBackups, TagResource and UpdateTable. --stack also needs
cloudformation:DescribeStacks and cloudformation:GetTemplate, and says which tags the table gets.`;

/** How often the command looks whether the table has its settings, and how long it waits in between, ms. DynamoDB may show them late. */
const LOOKS = 10;
const BETWEEN_LOOKS = 1000;

export function addRestore(program: Command, open: Open): void {
  const command = program
    .command("restore")
    .description(
      "make a table whole that was restored from a backup: TTL, point-in-time recovery, tags and deletion protection",
    )
    .option("--table <name>", "name of the restored table (default: the output of --stack)")
    .addOption(new Option("--dry-run", "show what would change, and change nothing").conflicts("yes"))
    .option("--yes", "change the table without asking")
    .action((flags: Flags) => restore(open(), flags));
  command.addHelpText("after", ABOUT);
  examples(command, [
    "minutehand restore --stack Shop --table shop-restored --dry-run",
    "minutehand restore --stack Shop --table shop-restored",
  ]);
}

async function restore(session: Session, flags: Flags): Promise<void> {
  const { output } = session;
  const { table: named, dryRun, yes } = flags;
  requireAnswer(session, flags, "changes a table", "see the changes");
  const { changeTable, tableSettings } = await import("../../aws/table-settings.ts");
  const table = named ?? (await tableOf(session, "a table on this machine needs no settings"));
  const want = await wantedOf(session);
  const found = await tableSettings(table);
  const fault = tableFault(found) ?? notActive(found.status);
  if (fault !== undefined) throw new CliError(`the table ${table} cannot be made whole: ${fault}`);
  const changes = missingIn(found, want);
  const words = wordsOfMissing(changes);
  const told = { table, changes, ...(found.key !== undefined && { key: found.key }) };
  if (dryRun) await output.told(told, `would ${planOf(table, words)}`);
  else if (words === "") output.note(`there is nothing to do: would ${planOf(table, words)}`);
  else {
    if (!yes && !(await session.confirm(`${planOf(table, words)}?`)))
      throw new CliError("nothing was changed");
    await changeTable(table, changes);
    await untilWhole(session, table, want);
    await output.told(told, `the table ${table} has ${words}`);
  }
  if (found.key !== undefined)
    output.note(
      `the KMS key ${found.key} encrypts the table: give it to Table.fromTableAttributes as encryptionKey, so that the functions may use it`,
    );
}

/** Without a stack no tags are known. */
async function wantedOf({ options: { stack }, output }: Session): Promise<WantedTable> {
  if (stack !== undefined) return (await import("../../aws/account.ts")).wantedTable(stack);
  output.note("without --stack the table gets no tags");
  return { tags: {}, isProtected: true };
}

function notActive(status: string): string | undefined {
  return status === "ACTIVE" ? undefined : `it is ${status}: wait until it is ACTIVE`;
}

function planOf(table: string, words: string): string {
  return words === "" ? `leave the table ${table} as it is` : `give the table ${table} ${words}`;
}

async function untilWhole({ surroundings }: Session, table: string, want: WantedTable): Promise<void> {
  const { tableSettings } = await import("../../aws/table-settings.ts");
  let lacking = "";
  for (let look = 0; look < LOOKS; look++) {
    if (look > 0) await surroundings.wait(BETWEEN_LOOKS);
    lacking = wordsOfMissing(missingIn(await tableSettings(table), want));
    if (lacking === "") return;
  }
  throw new CliError(`the table ${table} still lacks ${lacking}: wait a minute, and run the command again`);
}
