import { type Command, InvalidArgumentError } from "commander";
import { LONGEST_MOVE } from "../../../local/clock-path.ts";
import { lengthText } from "../../../local/clock-words.ts";
import { messageOf } from "../../core/errors.ts";
import { parseDuration } from "../../general/times.ts";
import { isLoopback } from "../../settings/loopback.ts";
import { CliError, UsageError } from "../cli-error.ts";
import { many } from "../columns.ts";
import { examples } from "../examples.ts";
import type { Open, Session } from "../session.ts";
import { type ClockMove, callClock } from "../stack-clock.ts";
import { requireNamed } from "../target.ts";

/** How often the command asks where the clock is, ms. */
const LOOK_EVERY = 1_000;
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
      const session = open();
      const { output } = session;
      const target = await session.target();
      // A clock never goes back, and the local stack at the default port may be that of another project.
      if (move !== undefined) requireNamed(target, "move a clock");
      const { url } = target;
      if (!isLoopback(new URL(url).hostname))
        throw new UsageError(`clock needs a local stack: the clock of ${url} cannot be moved`);
      const { runs: _, ...clock } = await moveClock(session, url, move);
      const ahead = Math.round(clock.ahead / 1000) * 1000;
      const apart = ahead === 0 ? "the same time as" : `${lengthText(ahead)} ahead of`;
      await output.told(clock, `the clock of the local stack is at ${clock.now}, ${apart} this machine's`);
    });
  examples(command, ["minutehand clock +1h", "minutehand clock next-job", "minutehand clock"]);
  command.addHelpText("after", ABOUT);
}

/** Shows on stderr which time the clock has reached. At Ctrl-C it ends the move, and says where the clock stands. */
async function moveClock(session: Session, url: string, move: ClockMove | undefined) {
  const { progress, output, surroundings } = session;
  let clock = await callClock(url);
  if (move === undefined) return clock;
  const stopping = new AbortController();
  const before = clock.runs ?? 0;
  session.atInterrupt(async () => {
    stopping.abort();
    output.note(`the clock stopped at ${(await callClock(url)).now}`);
  });
  let isMoving = true;
  const moved = callClock(url, move, stopping.signal).finally(() => {
    isMoving = false;
  });
  const ended = moved.catch(() => {});
  try {
    for (;;) {
      await Promise.race([ended, surroundings.wait(LOOK_EVERY)]);
      // After Ctrl-C the program ends by itself, with what it says then.
      if (stopping.signal.aborted) await new Promise(() => {});
      if (!isMoving) return await moved;
      clock = await callClock(url);
      const runs = (clock.runs ?? 0) - before;
      progress.show(`the clock is at ${clock.now}: ${many(runs, "run")} of jobs so far`);
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    const { now } = await callClock(url).catch(() => clock);
    throw new CliError(`the clock was only moved to ${now}: ${messageOf(error)}`);
  } finally {
    progress.clear();
  }
}

function moveIn(text: string): ClockMove {
  if (text === "next-job") return { to: text };
  const by = text.startsWith("+") ? parseDuration(text.slice(1)) : undefined;
  if (by !== undefined && by > LONGEST_MOVE)
    throw new InvalidArgumentError(
      `It must be at most ${lengthText(LONGEST_MOVE)}: the clock never goes back.`,
    );
  if (by !== undefined && by > 0) return { by };
  const back = text.startsWith("-") ? "The clock only goes forward. " : "";
  throw new InvalidArgumentError(`${back}It must be +, a duration such as 1m, 1h or 7d, or "next-job".`);
}
