/** Other inputs in esbuild's metafile are text in its options. */
export function bundledFiles({ inputs }: { readonly inputs: Readonly<Record<string, unknown>> }): string[] {
  return Object.keys(inputs).filter((input) => !input.startsWith("<data:"));
}
