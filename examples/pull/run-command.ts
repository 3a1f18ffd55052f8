import { execFile } from "node:child_process";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** Runs a program. If it fails, throws an error with its exit code and its stderr. `lost` ends it. */
export async function runCommand(program: string, args: readonly string[], lost: AbortSignal): Promise<void> {
  try {
    await execute(program, args, { signal: lost });
  } catch (error) {
    if (lost.aborted) throw lost.reason;
    const { code, signal, stderr = "" } = error as { code?: unknown; signal?: string; stderr?: string };
    const how = typeof code === "number" ? `exit code ${code}` : (code ?? signal);
    throw new Error(`${program} ended with ${how}: ${stderr.trim()}`);
  }
}
