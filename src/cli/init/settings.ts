/** Changes of tsconfig.json and .gitignore that keep the user's own text. */
import { lineEndOf, withMember } from "./json-text.ts";
import { withoutComments } from "./json-tree.ts";

const IGNORED = ["node_modules", "cdk.out", ".minutehand"];
export const TS_IMPORTS = "rewriteRelativeImportExtensions";

type Settings = { extends?: unknown; compilerOptions?: Record<string, unknown> };

/** Adds the folders that git must not take. `more`: further ones. */
export function withIgnored(text = "", more: readonly string[] = []): string {
  const missing = [...IGNORED, ...more].filter((name) => !text.includes(name));
  if (missing.length === 0) return text;
  const eol = lineEndOf(text);
  return `${text === "" || text.endsWith("\n") ? text : text + eol}${missing.join(eol)}${eol}`;
}

/** Lets imports name `.ts` files, as Node needs it. Answers `undefined` if the text is not an object that can be changed safely. */
export function withTsImports(text: string): string | undefined {
  return withOption(text, TS_IMPORTS, true, takesTsImports);
}

/** Lists the types of global names, which TypeScript 6 takes only from a list. A list of the user's own, or of the file that this one extends, stays. */
export function withTypes(text: string, types: readonly string[]): string {
  const isSet = (settings: Settings) => hasTypes(settings) || settings.extends !== undefined;
  return withOption(text, "types", types, isSet) ?? text;
}

/**
 * Whether a compiler before TypeScript 6 checks the types of packages, but does not read the `exports` by which they import each other. With
 * `extends`, or in a text that is not clear, nobody knows.
 */
export function checksWithoutExports(text: string): boolean {
  const { extends: base, compilerOptions = {} } = parsed(text) ?? { extends: "unclear" };
  const { module, moduleResolution = module, skipLibCheck } = compilerOptions;
  const readsExports = /^(node(16|18|20|next)|bundler|preserve)$/i.test(String(moduleResolution));
  return base === undefined && skipLibCheck !== true && !readsExports;
}

function withOption(
  text: string,
  option: string,
  value: unknown,
  isSet: (settings: Settings) => boolean,
): string | undefined {
  const before = parsed(text);
  if (before === undefined) return undefined;
  if (isSet(before)) return text;
  const after =
    before.compilerOptions === undefined
      ? withMember(text, [], "compilerOptions", { [option]: value })
      : withMember(text, ["compilerOptions"], option, value);
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
  const bare = withoutComments(text).replace(/,(\s*[}\]])/g, "$1");
  try {
    const value: unknown = JSON.parse(bare);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
