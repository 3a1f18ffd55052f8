import type { Command } from "commander";
import { examples } from "../examples.ts";

type LocalFlags = { app?: string; watch: boolean; port: string; data: string; reset?: true };

export function addLocal(program: Command): void {
  const command = program
    .command("local")
    .description("run your app's stack on this machine, and its functions anew when they are saved")
    .option("--app <command>", "that runs the CDK app, else what cdk.json says")
    .option("--no-watch", "leave functions as they are when they are saved")
    .option("--port <n>", "of the API on 127.0.0.1; 0 picks a free one", "4500")
    .option("--data <folder>", "that keeps jobs, messages, schedules and secrets", ".minutehand")
    .option("--reset", "drop all of them but the secrets first")
    .action(async ({ app, watch, port, data, reset }: LocalFlags) => {
      // It takes its arguments as it does without this command, and is loaded by nobody else.
      const { runLocal } = await import("../../local/run.ts");
      await runLocal([
        ...(app === undefined ? [] : ["--app", app]),
        ...(watch ? [] : ["--no-watch"]),
        ...["--port", port, "--data", data],
        ...(reset ? ["--reset"] : []),
      ]);
    });
  examples(command, [
    "minutehand local",
    'minutehand local --app "node app.ts" --port 0',
    "minutehand local --reset",
  ]);
}
