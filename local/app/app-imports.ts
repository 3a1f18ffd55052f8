import { existsSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const PRELOAD = join(import.meta.dirname, `imports-preload${extname(import.meta.filename)}`);

/** Makes environment variables for the app. With them, each Node process of the app writes the URLs of its imported files into `file`. */
export function importVariables(file: string, env: NodeJS.ProcessEnv): Record<string, string> {
  const preload = `--import=${pathToFileURL(PRELOAD).href}`;
  return {
    NODE_OPTIONS: [env.NODE_OPTIONS, preload].filter(Boolean).join(" "),
    MINUTEHAND_IMPORTS_FILE: file,
  };
}

export function readImports(file: string): string[] {
  if (!existsSync(file)) return [];
  const urls = readFileSync(file, "utf8").split("\n").filter(Boolean);
  return [...new Set(urls.map((url) => fileURLToPath(url)))].sort();
}
