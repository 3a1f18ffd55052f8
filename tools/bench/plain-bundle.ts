import { resolve } from "node:path";
import { esbuild, OPTIONS, optionsFor } from "../../infra/bundling/bundle.ts";
import { readAtStart } from "./read-at-start.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** The file of a client, or of one of its commands, in a package of the SDK. */
const OF_SDK = /node_modules\/(@aws-sdk\/client-[^/]+)\/dist-es\/(?:commands\/(\w+Command)|(\w+Client))\.js$/;

/** The SDK clients that a function loads, and their commands, by esbuild's usual options for Lambda: without the savings of our bundles. */
export function plainBundle(entry: string): Uint8Array {
  const { alias: _, ...usual } = OPTIONS;
  const stdin = { contents: plainModule(entry), resolveDir: ROOT };
  const { outputFiles } = esbuild().buildSync({ ...usual, metafile: false, stdin });
  const [file] = outputFiles;
  if (file === undefined) throw new Error(`the clients of ${entry} gave no bundle`);
  return file.contents;
}

function plainModule(entry: string): string {
  const { outputs } = esbuild().buildSync(optionsFor(entry, ROOT, { split: true })).metafile;
  const clients: Record<string, string[]> = {};
  for (const output of readAtStart(outputs, "index.mjs"))
    for (const [path, { bytesInOutput }] of Object.entries(outputs[output]?.inputs ?? {})) {
      const [, name, command, client] = OF_SDK.exec(path) ?? [];
      const exported = command ?? client;
      if (name !== undefined && exported !== undefined && bytesInOutput > 0)
        clients[name] = [...(clients[name] ?? []), exported];
    }
  const lines = Object.entries(clients).map(
    ([name, exported], index) =>
      `import { ${exported} } from "${name}"; export { ${exported} };` +
      `export const client${index} = new ${exported.find((one) => one.endsWith("Client"))}({});`,
  );
  return lines.join("\n");
}
