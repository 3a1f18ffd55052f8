import type { Command } from "commander";
import { rate } from "../arguments.ts";
import { counted, many } from "../columns.ts";
import { examples } from "../examples.ts";
import type { Open } from "../session.ts";

export function addPauses(program: Command, open: Open): void {
  const pause = program
    .command("pause")
    .description("hold a topic: from five seconds later no job of it starts, until it is resumed")
    .argument("<topic>")
    .action(async (topic: string) => {
      const { output, client } = open();
      const api = await client();
      const paused = await api.pause(topic);
      await output.told(paused, `${topic} is paused since ${paused.since}`);
    });
  examples(pause, ["minutehand pause order-timeout"]);

  const resume = program
    .command("resume")
    .description("let a paused topic go on, with the jobs that became due meanwhile")
    .argument("<topic>")
    .option("--rate <n>", "start at most so many of them a second", rate)
    .action(async (topic: string, { rate }: { rate?: number }) => {
      const { output, client } = open();
      const api = await client();
      const resumed = await api.resume(topic, rate === undefined ? {} : { ratePerSecond: rate });
      const left = resumed.left === 0 ? "" : `; ${counted(resumed.left)} left, which follow with the ticks`;
      await output.told(resumed, `${topic} goes on: ${many(resumed.released)} released${left}`);
    });
  examples(resume, ["minutehand resume order-timeout --rate 10"]);
}
