import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseSync } from "oxc-parser";

/** A field of a type with the text of its docstring. `ifAbsent`: its `@default`. */
export type Documented = { readonly name: string; readonly text: string; readonly ifAbsent?: string };

/** Reads the fields of an exported type with their docstrings, in their order. Throws if the file has no such type. */
export function documentedFields(file: URL, type: string): Documented[] {
  const path = fileURLToPath(file);
  const { program, comments } = parseSync(path, readFileSync(path, "utf8"));
  const declared = program.body
    .flatMap((node) => (node.type === "ExportNamedDeclaration" && node.declaration ? [node.declaration] : []))
    .find((node) => node.type === "TSTypeAliasDeclaration" && node.id.name === type);
  if (declared?.type !== "TSTypeAliasDeclaration" || declared.typeAnnotation.type !== "TSTypeLiteral")
    throw new Error(`${path} has no type ${type} that lists its fields`);
  return declared.typeAnnotation.members.flatMap((member): Documented[] => {
    if (member.type !== "TSPropertySignature" || member.key.type !== "Identifier") return [];
    const comment = comments.findLast(({ end }) => end <= member.start)?.value ?? "";
    const lines = comment.replace(/^\*/, "").replace(/\n\s*\* ?/g, "\n");
    const [text = "", ...tags] = lines.split(/\n@/);
    const ifAbsent = tags.find((tag) => tag.startsWith("default "))?.slice("default ".length);
    return [
      {
        name: member.key.name,
        text: oneLine(text),
        ...(ifAbsent !== undefined && { ifAbsent: oneLine(ifAbsent) }),
      },
    ];
  });
}

/** The first sentence, without its full stop. */
export function firstSentence(text: string): string {
  return text.split(/(?<=[^.])\.(?= [A-Z`]|$)/)[0] ?? text;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
