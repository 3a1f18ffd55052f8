import { basename } from "node:path";
import { decisionsIn } from "../contents.ts";
import { table } from "../markdown.ts";

export function decisions(docs: string): string {
  const rows = decisionsIn(docs).map(({ text, link }) => [`[${text}](${basename(link)})`]);
  return table(["decision"], rows);
}
