/** The files that esbuild bundled, as its metafile names them. Other inputs of a bundle are text in esbuild's options. */
export function bundledFiles({ inputs }: { readonly inputs: Readonly<Record<string, unknown>> }): string[] {
  return Object.keys(inputs).filter((input) => !input.startsWith("<data:"));
}
