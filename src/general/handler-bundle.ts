import { builtinModules } from "node:module";

// What the construct and the local runner both do with esbuild, so that they make the same bundle of a handler. Not esbuild's types: an app
// that bundles nothing must compile without esbuild.

/**
 * Node's modules by their names with `node:`, each as a module that requires it. An ESM import evaluates all exports: a WebSocket client
 * for `node:http`, the standard streams for `node:process`, together a sixth of a start. `require` evaluates only what is used, and hooks
 * of tracing layers see it. Names without `node:` stay, because esbuild would also replace the package `string_decoder/`.
 */
const REQUIRED_BUILTINS = Object.fromEntries(
  builtinModules
    .map((module) => `node:${module.replace(/^node:/, "")}`)
    // The brackets hide the call from esbuild, which would replace the name again.
    .map((name) => [name, `data:text/javascript,module.exports=(0,require)("${name}")`]),
);

export const ES_MODULE = {
  format: "esm" as const,
  alias: REQUIRED_BUILTINS,
  // Bundled CommonJS packages still use these names of their module scope, which ESM does not have. esbuild itself gives them the other three:
  // `module`, `exports` and `this`.
  banner: {
    js:
      'import{createRequire}from"node:module";const require=createRequire(import.meta.url),' +
      "{filename:__filename,dirname:__dirname}=import.meta;",
  },
};

export const COMMON_JS = {
  format: "cjs" as const,
  // esbuild does not warn of packages otherwise.
  logOverride: { "empty-import-meta": "warning" as const },
};

/** A variable of a handler with this name would replace `import.meta` there, so no handler may have the name. */
const META_NAME = "__minutehandImportMeta";

/**
 * Defines `import.meta` in a CommonJS bundle. Only if it is used, because esbuild imports the text into every module. A banner would stand
 * before esbuild's "use strict" and end its effect.
 */
const IMPORT_META = {
  define: { "import.meta": META_NAME },
  inject: [
    `data:text/javascript,export const ${META_NAME}=(()=>{` +
      'const{pathToFileURL}=require("node:url"),url=pathToFileURL(__filename).href,' +
      'resolve=name=>name.startsWith(".")?new URL(name,url).href:pathToFileURL(require.resolve(name)).href;' +
      "return{url,filename:__filename,dirname:__dirname,main:require.main===module,resolve}})()",
  ],
};

type Options = {
  format?: string;
  outfile?: string;
  mainFields?: string[];
  external?: string[];
  define?: object;
  inject?: string[];
};
type Input = {
  readonly format?: string;
  readonly imports: readonly { readonly path: string; readonly kind: string }[];
};
type Output = { readonly entryPoint?: string; readonly exports: readonly string[] };
type Metafile = {
  readonly inputs: Readonly<Record<string, Input>>;
  readonly outputs: Readonly<Record<string, Output>>;
};
type Made =
  | { readonly metafile: Pick<Metafile, "inputs">; readonly warnings: readonly { readonly id: string }[] }
  | { readonly errors: readonly { readonly text: string }[] };

/** Lambda's runtime has the packages of the AWS SDK, so the CDK's `NodejsFunction` needs no installed ones. */
const MISSING_SDK = /^Could not resolve "(@(?:aws-sdk|smithy)\/.+?)"/;

/**
 * Answers the options with which esbuild must try again, after `options` gave `made`. `undefined`: `made` is the result.
 * - A package of the AWS SDK that is not installed is left to Lambda's runtime.
 * - Code that does not compile as CommonJS awaits at the top level of a module: it becomes an ES module. Other errors come again.
 * - CommonJS has no `import.meta`: it is defined if the code uses it.
 * - If CommonJS code requires a package and would get its ES module, `main` must name the module, as for Node. The bundle is larger.
 */
export function nextOptions<O extends Options>(options: O, made: Made): O | undefined {
  if ("metafile" in made) {
    const usesMeta = made.warnings.some(({ id }) => id === "empty-import-meta");
    const isWrong = options.mainFields?.[0] === "module" && requiresEsModule(made.metafile);
    const more = { ...(usesMeta && IMPORT_META), ...(isWrong && { mainFields: ["main", "module"] }) };
    return usesMeta || isWrong ? { ...options, ...more } : undefined;
  }
  const missing = made.errors.flatMap(({ text }) => MISSING_SDK.exec(text)?.[1] ?? []);
  if (missing.length > 0) return { ...options, external: [...(options.external ?? []), ...missing] };
  return options.format === COMMON_JS.format ? asEsModule(options) : undefined;
}

/** Whether `require` gives bundled code an ES module. The code expects the package's CommonJS module, if it has one, for example a function. */
function requiresEsModule({ inputs }: Pick<Metafile, "inputs">): boolean {
  return Object.values(inputs).some(({ imports }) =>
    imports.some(({ path, kind }) => kind === "require-call" && inputs[path]?.format === "esm"),
  );
}

function asEsModule<O extends Options>(options: O): O {
  const outfile = options.outfile?.replace(/\.cjs$/, ".mjs");
  return { ...options, ...ES_MODULE, define: {}, inject: [], ...(outfile && { outfile }) };
}

/** esbuild ends a CommonJS bundle with the names of its exports, which Node reads for `import`. The metafile does not have them. */
const NAMES_OF_EXPORTS = /0&&\(module\.exports=\{([^{}]*)\}\);\s*(?:\/\/#.*\s*)?$/;

/** Answers `undefined` if the entry is CommonJS: then only running the bundle tells its exports. */
export function exportsOf({ inputs, outputs }: Metafile, code: string): readonly string[] | undefined {
  const output = Object.values(outputs).find(({ entryPoint }) => entryPoint !== undefined);
  if (output?.entryPoint === undefined || output.exports.length > 0) return output?.exports ?? [];
  if (inputs[output.entryPoint]?.format === "cjs") return undefined;
  return NAMES_OF_EXPORTS.exec(code)?.[1]?.split(",") ?? [];
}

/** Other inputs in esbuild's metafile are text in its options. */
export function filesOfBundle({ inputs }: Pick<Metafile, "inputs">): string[] {
  return Object.keys(inputs).filter((input) => !input.startsWith("<data:"));
}
