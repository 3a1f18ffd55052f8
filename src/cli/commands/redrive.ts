import { Argument, type Command } from "commander";
import type { Redriven } from "../../client/client.ts";
import type { Duration } from "../../client/options.ts";
import { BATCH_JOBS } from "../../core/constants.ts";
import { chunksOf } from "../../general/batches.ts";
import { parseDuration } from "../../general/times.ts";
import { deadJobIds, durationArgument, REASON, rate, wholeNumber } from "../arguments.ts";
import { CliError, UsageError } from "../cli-error.ts";
import { counted, many } from "../columns.ts";
import { examples } from "../examples.ts";
import { changeMany } from "../many.ts";
import {
  addFilters,
  addSeen,
  type Caution,
  DIED,
  type Filters,
  filtersOf,
  onlyForOne,
  type Seen,
  seenAs,
} from "../selection.ts";
import type { Open, Session } from "../session.ts";

type Flags = Filters & Caution & Seen & { max?: number; delay?: Duration; rate?: number; reason?: string };

export function addRedrive(program: Command, open: Open): void {
  const command = program
    .command("redrive")
    .description(
      "run dead jobs again: the given ids, the oldest --max (default 100), or all that match the filters",
    )
    .argument("<topic>")
    .addArgument(new Argument("[ids...]").argParser(deadJobIds))
    .option("--max <n>", "the oldest jobs, at most this many", wholeNumber(1, BATCH_JOBS))
    .option("--delay <duration>", "start this long from now; not with filters", durationArgument)
    .option("--rate <n>", "start at most this many jobs a second", rate)
    .option(...REASON);
  addFilters(addSeen(command), DIED).action(
    async (topic: string, ids: string[], { max, delay, rate, reason, ifMatch, ...rest }: Flags) => {
      const session = open();
      const isNamed = ids.length > 0 || max !== undefined;
      const isFiltered = Object.keys(rest).length > 0;
      if ((ids.length > 0 && max !== undefined) || (isNamed && isFiltered)) {
        throw new UsageError("name the dead jobs in one way: give ids, or --max, or filters");
      }
      if (ifMatch !== undefined && ids.length !== 1) throw onlyForOne("--if-match");
      const pace = rate === undefined ? {} : { ratePerSecond: rate };
      if (isFiltered) {
        if (delay !== undefined) throw new UsageError("--delay must be given without filters");
        return changeMany(session, { action: "redrive", topic, ...filtersOf(rest), ...pace, reason }, rest);
      }
      if (ids.length > 0)
        return redriveEach(session, topic, [...new Set(ids)], { delay, rate, reason, ifMatch });
      const api = await session.client();
      const asked = { ...(max === undefined ? {} : { max }), ...(delay === undefined ? {} : { delay }) };
      return show(session, topic, await api.redrive(topic, { ...asked, ...pace, reason }));
    },
  );
  examples(command, [
    "minutehand redrive order-timeout --max 500 --rate 10",
    "minutehand redrive order-timeout 01KJMF8S00G00000000000000A",
    "minutehand redrive order-timeout --tag spring-sale --from 2026-03-01T00:00:00Z --dry-run",
  ]);
}

function show({ output }: Session, topic: string, done: Redriven): Promise<void> {
  return output.told(done, `redriven ${many(done.redriven)} of ${topic}; dead now: ${counted(done.left)}`);
}

type HowEach = { [Name in "delay" | "rate" | "reason" | "ifMatch"]: Flags[Name] | undefined };

/** Redrives jobs by id, in as few calls as the API allows. Tries all, then throws `CliError` if some were not redriven. */
async function redriveEach(
  session: Session,
  topic: string,
  ids: readonly string[],
  { delay = 0, rate, reason, ifMatch }: HowEach,
): Promise<void> {
  const api = await session.client();
  const pace = rate === undefined ? {} : { ratePerSecond: rate };
  const begin = (parseDuration(delay) ?? 0) / 1000;
  let sum: Redriven | undefined;
  try {
    for (const [i, some] of chunksOf(ids, BATCH_JOBS).entries()) {
      // The jobs of a part start after the jobs of all earlier parts, so that all parts together keep to the rate.
      const startedBefore = rate === undefined ? 0 : (i * BATCH_JOBS) / rate;
      const part = await api.redrive(topic, {
        ids: some,
        delay: begin + startedBefore,
        ...pace,
        ...seenAs(ids[0] ?? "", ifMatch),
        reason,
      });
      sum = { redriven: (sum?.redriven ?? 0) + part.redriven, left: part.left };
    }
  } finally {
    // Even if a part fails, print how many jobs the earlier parts have redriven.
    if (sum !== undefined) await show(session, topic, sum);
  }
  const refused = ids.length - (sum?.redriven ?? 0);
  if (refused > 0) {
    throw new CliError(
      `${refused} of ${ids.length} jobs were not redriven: they are not dead, or their keys name other jobs`,
    );
  }
}
