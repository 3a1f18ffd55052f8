/** Other inputs in esbuild's metafile are text in its options. */
export function bundledFiles({ inputs }: { readonly inputs: Readonly<Record<string, unknown>> }): string[] {
  return Object.keys(inputs).filter((input) => !input.startsWith("<data:"));
}

type Inputs = Readonly<
  Record<string, { readonly format?: string; readonly imports: readonly { path: string; kind: string }[] }>
>;

/**
 * Whether `require` gives bundled code the ES module of a package. If the package has a CommonJS module too, the code expects that one, for example
 * a function and no object with `default`.
 */
export function requiresEsModule({ inputs }: { readonly inputs: Inputs }): boolean {
  return Object.values(inputs).some(({ imports }) =>
    imports.some(({ path, kind }) => kind === "require-call" && inputs[path]?.format === "esm"),
  );
}

/** esbuild's options, changed so that `main` names the module of a package, as for Node and in the CDK's `NodejsFunction`. The bundle is larger. */
export function likeNode<Options extends { mainFields?: string[] }>(options: Options): Options {
  return { ...options, mainFields: ["main", "module"] };
}
