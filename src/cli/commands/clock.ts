import { type Command, InvalidArgumentError } from "commander";
import { lengthText } from "../../../local/clock-words.ts";
import { DAY } from "../../core/constants.ts";
import { parseDuration } from "../../general/times.ts";
import { isLoopback } from "../../settings/loopback.ts";
import { UsageError } from "../cli-error.ts";
import { examples } from "../examples.ts";
import type { Open } from "../session.ts";
import { type ClockMove, callClock } from "../stack-clock.ts";

const ABOUT = `
Everything that is due until then happens in its order: jobs, retries, schedules, leases, ticks. The
clock never goes back. It stays ahead when the stack starts again, until "minutehand local --reset".`;

export function addClock(program: Command, open: Open): void {
  const command = program
    .command("clock")
    .description("show the clock of the local stack, or move it on")
    // Otherwise a move back, such as -1h, would be an unknown option, and not be explained.
    .allowUnknownOption()
    .argument("[move]", 'how far, such as +1m, +1h or +7d, or "next-job"', moveIn)
    .action(async (move: ClockMove | undefined) => {
      const { output, target } = open();
      const { url } = await target();
      if (!isLoopback(new URL(url).hostname))
        throw new UsageError(`clock needs a local stack: the clock of ${url} cannot be moved`);
      let clock = await callClock(url);
      for (const part of partsOf(move)) clock = await callClock(url, part);
      const ahead = Math.round(clock.ahead / 1000) * 1000;
      const apart = ahead === 0 ? "the same time as" : `${lengthText(ahead)} ahead of`;
      await output.told(clock, `the clock of the local stack is at ${clock.now}, ${apart} this machine's`);
    });
  examples(command, ["minutehand clock +1h", "minutehand clock next-job", "minutehand clock"]);
  command.addHelpText("after", ABOUT);
}

function moveIn(text: string): ClockMove {
  if (text === "next-job") return { to: text };
  const by = text.startsWith("+") ? parseDuration(text.slice(1)) : undefined;
  if (by !== undefined && by > 0) return { by };
  const back = text.startsWith("-") ? "The clock only goes forward. " : "";
  throw new InvalidArgumentError(`${back}It must be +, a duration such as 1m, 1h or 7d, or "next-job".`);
}

/** At most a day each, so that no request takes minutes. */
function partsOf(move: ClockMove | undefined): ClockMove[] {
  if (move === undefined) return [];
  if ("to" in move) return [move];
  const days = Math.ceil(move.by / DAY);
  return Array.from({ length: days }, (_, day) => ({ by: Math.min(DAY, move.by - day * DAY) }));
}
