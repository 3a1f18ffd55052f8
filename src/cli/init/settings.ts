/** Changes of tsconfig.json and .gitignore that keep the user's own text. */

const IGNORED = ["node_modules", "cdk.out", ".minutehand"];
export const TS_IMPORTS = '"rewriteRelativeImportExtensions": true';

type Settings = { extends?: unknown; compilerOptions?: Record<string, unknown> };

/** Adds the folders that git must not take. */
export function withIgnored(text = ""): string {
  const missing = IGNORED.filter((name) => !text.includes(name));
  if (missing.length === 0) return text;
  return `${text === "" || text.endsWith("\n") ? text : `${text}\n`}${missing.join("\n")}\n`;
}

/** Lets imports name `.ts` files, as Node needs it. Answers `undefined` if the text is not an object that can be changed safely. */
export function withTsImports(text: string): string | undefined {
  return withOption(text, TS_IMPORTS, takesTsImports);
}

/** Lists the types of global names, which TypeScript 6 takes only from a list. A list of the user's own, or of the file that this one extends, stays. */
export function withTypes(text: string, types: readonly string[]): string {
  const option = `"types": ${JSON.stringify(types).replaceAll(",", ", ")}`;
  return withOption(text, option, (settings) => hasTypes(settings) || settings.extends !== undefined) ?? text;
}

function withOption(
  text: string,
  option: string,
  isSet: (settings: Settings) => boolean,
): string | undefined {
  const before = parsed(text);
  if (before === undefined) return undefined;
  if (isSet(before)) return text;
  const { compilerOptions } = before;
  const open = compilerOptions === undefined ? /\{/ : /"compilerOptions"\s*:\s*\{/;
  const comma = Object.keys(compilerOptions ?? before).length === 0 ? "" : ",";
  const added = compilerOptions === undefined ? `"compilerOptions": { ${option} }` : option;
  const indent = compilerOptions === undefined ? "  " : "    ";
  const after = text.replace(open, (found) => `${found}\n${indent}${added}${comma}`);
  return isSet(parsed(after) ?? {}) ? after : undefined;
}

function hasTypes({ compilerOptions = {} }: Settings): boolean {
  return compilerOptions.types !== undefined;
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
