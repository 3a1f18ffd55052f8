import { FIRST, type Section } from "./contents.ts";

type About = { readonly description: string; readonly homepage: string };

/** `llms.txt` (llmstxt.org): one line for each page, with the address of its Markdown, for programs that read the site. */
export function llmsText(sections: readonly Section[], { description, homepage }: About): string {
  const parts = [{ text: "Start", items: [FIRST] }, ...sections].map(({ text, items }) => {
    const lines = items.map(({ text, link, about }) => `- [${text}](${new URL(link, homepage)}): ${about}`);
    return [`## ${text}`, "", ...lines].join("\n");
  });
  return `${["# Minutehand", `> ${description}`, ...parts].join("\n\n")}\n`;
}
