import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "./environment.ts";
import type { Session } from "./session.ts";

type Tool = {
  readonly name: string;
  /** The tool's folder below ~/.cache, and the environment variable that may name another folder. */
  readonly cache: string;
  readonly variable: string;
  readonly requirements: string;
};

/** The path of Python in a virtual environment that has a tool. Makes the environment again if the tool's requirements have changed. */
export async function pythonWith(
  session: Session,
  { name, cache: folder, variable, requirements }: Tool,
): Promise<string> {
  const cache = cacheFolder(folder, variable);
  const python = join(cache, "bin", "python");
  const marker = join(cache, "requirements.sha256");
  const wanted = createHash("sha256").update(readFileSync(requirements)).digest("hex");
  if (readIfThere(marker) === wanted) return python;
  session.progress(`installing ${name} into ${cache}`);
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
    // At the first run there is no such file.
    return undefined;
  }
}
