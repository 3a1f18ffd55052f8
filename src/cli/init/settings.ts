/** Changes of tsconfig.json and .gitignore that keep the user's own text. */

const IGNORED = ["node_modules", "cdk.out", ".minutehand"];
export const TS_IMPORTS = '"rewriteRelativeImportExtensions": true';

type Settings = { compilerOptions?: Record<string, unknown> };

/** Adds the folders that git must not take. */
export function withIgnored(text = ""): string {
  const missing = IGNORED.filter((name) => !text.includes(name));
  if (missing.length === 0) return text;
  return `${text === "" || text.endsWith("\n") ? text : `${text}\n`}${missing.join("\n")}\n`;
}

/** Lets imports name `.ts` files, as Node needs it. Answers `undefined` if the text is not an object that can be changed safely. */
export function withTsImports(text: string): string | undefined {
  const before = parsed(text);
  if (before === undefined) return undefined;
  if (takesTsImports(before)) return text;
  const { compilerOptions } = before;
  const open = compilerOptions === undefined ? /\{/ : /"compilerOptions"\s*:\s*\{/;
  const comma = Object.keys(compilerOptions ?? before).length === 0 ? "" : ",";
  const option = compilerOptions === undefined ? `"compilerOptions": { ${TS_IMPORTS} }` : TS_IMPORTS;
  const indent = compilerOptions === undefined ? "  " : "    ";
  const after = text.replace(open, (found) => `${found}\n${indent}${option}${comma}`);
  return takesTsImports(parsed(after) ?? {}) ? after : undefined;
}

function takesTsImports({ compilerOptions = {} }: Settings): boolean {
  return [
    compilerOptions.allowImportingTsExtensions,
    compilerOptions.rewriteRelativeImportExtensions,
  ].includes(true);
}

/** Parses JSON with comments and trailing commas, as the compiler does. */
function parsed(text: string): Settings | undefined {
  const bare = text
    .replace(/("(?:\\.|[^"\\])*")|\/\/.*|\/\*[\s\S]*?\*\//g, "$1")
    .replace(/,(\s*[}\]])/g, "$1");
  try {
    const value: unknown = JSON.parse(bare);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
