import { type Command, Option } from "commander";
import type { Warmth } from "../../aws/warm-table.ts";
import { wholeNumber } from "../arguments.ts";
import { CliError, UsageError } from "../cli-error.ts";
import { examples } from "../examples.ts";
import { type Caution, requireAnswer } from "../selection.ts";
import type { Open, Session } from "../session.ts";
import { tableOf } from "../stack-table.ts";

type Flags = Caution & { units?: number; readUnits?: number; table?: string };
type Plan = { readonly table: string; readonly from: Warmth; readonly to: Partial<Warmth> };

/** A new on-demand table has these. */
const LEAST: Warmth = { read: 12_000, write: 4_000 };
/** Far more than the 40,000 units that AWS allows for a table by default. */
const MOST_UNITS = 1_000_000;
/** Dollars for a unit of a second. Assumed: what a provisioned unit costs for an hour in us-east-1. AWS's page has the price of each region. */
const PRICE: Warmth = { read: 0.00013, write: 0.00065 };
const PRICE_PAGE = "https://aws.amazon.com/dynamodb/pricing/on-demand/";

export function addWarm(program: Command, open: Open): void {
  const command = program
    .command("warm")
    .description(
      "raise the units a second that the job table takes at once; AWS charges once, and never lowers them again",
    )
    .option("--units <number>", "write units a second", wholeNumber(LEAST.write, MOST_UNITS))
    .option("--read-units <number>", "read units a second", wholeNumber(LEAST.read, MOST_UNITS))
    .option("--table <name>", "name of the table (default: the output of --stack)")
    .addOption(new Option("--dry-run", "show the price and change nothing").conflicts("yes"))
    .option("--yes", "warm the table without asking")
    .action((flags: Flags) => warm(open(), flags));
  examples(command, [
    "minutehand warm --stack Shop --units 20000 --dry-run",
    "minutehand warm --stack Shop --units 20000 --read-units 24000",
  ]);
}

async function warm(session: Session, flags: Flags): Promise<void> {
  const { output } = session;
  const { units, readUnits, dryRun, yes } = flags;
  if (units === undefined && readUnits === undefined)
    throw new UsageError("give --units, --read-units or both");
  requireAnswer(session, flags, "costs money", "see the price");
  const { warmTable, warmthOf } = await import("../../aws/warm-table.ts");
  const table = flags.table ?? (await tableOf(session, "a table on this machine is never cold"));
  const from = await warmthOf(table);
  const to = {
    ...(units !== undefined && units > from.write && { write: units }),
    ...(readUnits !== undefined && readUnits > from.read && { read: readUnits }),
  };
  const plan = { table, from, to };
  const price = priceOf(plan);
  if (dryRun) return output.told({ ...plan, price }, `would ${wordsOf(plan)}`);
  if (Object.keys(to).length === 0) return output.note(`there is nothing to do: would ${wordsOf(plan)}`);
  if (!yes && !(await session.confirm(`${wordsOf(plan)}?`))) throw new CliError("nothing was changed");
  await warmTable(table, to);
  await output.told({ ...plan, price }, `DynamoDB warms the table ${table}, which can take hours`);
}

function priceOf({ from, to }: Plan): number {
  return more(from, to, "write") * PRICE.write + more(from, to, "read") * PRICE.read;
}

function more(from: Warmth, to: Partial<Warmth>, kind: keyof Warmth): number {
  return (to[kind] ?? from[kind]) - from[kind];
}

function wordsOf(plan: Plan): string {
  const { table, from, to } = plan;
  const raised = (["write", "read"] as const).flatMap((kind) =>
    to[kind] === undefined ? [] : [`${count(from[kind])} to ${count(to[kind])} ${kind} units a second`],
  );
  if (raised.length === 0)
    return `leave the table ${table} as it is, warm for ${count(from.write)} write and ${count(from.read)} read units a second`;
  return (
    `warm the table ${table} from ${raised.join(" and from ")}, for about $${priceOf(plan).toFixed(2)} once ` +
    `if a unit costs as much as a provisioned one for an hour in us-east-1 (see ${PRICE_PAGE})`
  );
}

function count(units: number): string {
  return units.toLocaleString("en");
}
