import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import { missingPackages } from "../../general/optional-packages.ts";
import { CliError } from "../cli-error.ts";
import { examples } from "../examples.ts";
import type { Open } from "../session.ts";

export function addMcp(program: Command, open: Open): void {
  const command = program
    .command("mcp")
    .description(
      "serve the API's calls as tools to a coding agent (Model Context Protocol, on stdin and stdout)",
    )
    .option("--write", "also serve the calls that change jobs, topics or schedules")
    .action(async ({ write = false }: { write?: boolean }) => {
      const { call } = open();
      const missing = missingPackages("minutehand mcp", ["@modelcontextprotocol/server"]);
      if (missing !== undefined) throw new CliError(missing);
      // Only this command needs the package, and the schemas of all calls.
      const { serveTools } = await import("../mcp/serve.ts");
      await serveTools(await call(), write, randomUUID);
    });
  examples(command, ["minutehand mcp", "minutehand mcp --stack Shop --write"]);
}
