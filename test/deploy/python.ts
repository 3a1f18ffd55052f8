import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "./environment.ts";
import type { Session } from "./session.ts";

type Tool = {
  /** What progress calls it. */
  readonly name: string;
  /** The folder below ~/.cache that it is kept in, and the variable that names another. */
  readonly cache: string;
  readonly variable: string;
  /** Its requirements by hash, in a file. */
  readonly requirements: string;
};

/** The Python of a virtual environment with a tool in it, made when the tool's requirements have changed. */
export async function pythonWith(
  session: Session,
  { name, cache: folder, variable, requirements }: Tool,
): Promise<string> {
  const cache = cacheFolder(folder, variable);
  const python = join(cache, "bin", "python");
  const marker = join(cache, "requirements.sha256");
  const wanted = createHash("sha256").update(readFileSync(requirements)).digest("hex");
  if (readIfThere(marker) === wanted) return python;
  session.progress(`${name} is installed into ${cache}`);
  mkdirSync(cache, { recursive: true });
  const creator = process.env.PYTHON_BIN ?? "python3";
  const advice = `${name} needs Python 3.10 or later, on the PATH or named by PYTHON_BIN`;
  const check =
    "import sys; sys.version_info >= (3, 10) or sys.exit(f'needs Python 3.10, not {sys.version}')";
  await session.run({ name: "python3", command: creator, args: ["-c", check], advice });
  await session.run({ name: "python3 -m venv", command: creator, args: ["-m", "venv", "--clear", cache] });
  await session.run({
    name: "pip install",
    command: python,
    args: [
      "-m",
      "pip",
      "--disable-pip-version-check",
      "install",
      "--quiet",
      "--require-hashes",
      "-r",
      requirements,
    ],
  });
  writeFileSync(marker, wanted);
  return python;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The first run.
    return undefined;
  }
}
