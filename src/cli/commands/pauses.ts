import type { Command } from "commander";
import { REASON, rate } from "../arguments.ts";
import { counted, many } from "../columns.ts";
import { examples } from "../examples.ts";
import type { Open } from "../session.ts";

export function addPauses(program: Command, open: Open): void {
  const pause = program
    .command("pause")
    .description("pause a topic: from five seconds later no job starts until you resume it")
    .argument("<topic>")
    .option(...REASON)
    .action(async (topic: string, { reason }: { reason?: string }) => {
      const { output, client } = open();
      const api = await client();
      const paused = await api.pause(topic, { reason });
      await output.told(paused, `${topic} is paused since ${paused.since}`);
    });
  examples(pause, ["minutehand pause order-timeout"]);

  const resume = program
    .command("resume")
    .description("resume a paused topic and start the jobs that became due during the pause")
    .argument("<topic>")
    .option("--rate <n>", "start at most this many of these jobs a second", rate)
    .option(...REASON)
    .action(async (topic: string, { rate, reason }: { rate?: number; reason?: string }) => {
      const { output, client } = open();
      const api = await client();
      const resumed = await api.resume(topic, {
        ...(rate === undefined ? {} : { ratePerSecond: rate }),
        reason,
      });
      const left = resumed.left === 0 ? "" : `; the next ticks release the other ${counted(resumed.left)}`;
      await output.told(resumed, `${topic} is resumed: ${many(resumed.released)} released${left}`);
    });
  examples(resume, ["minutehand resume order-timeout --rate 10"]);
}
