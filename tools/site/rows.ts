import type { MarkdownRenderer } from "vitepress";

/** Heads of first columns with names that readers look up: error codes, settings, options. */
const NAMED = ["code", "prop", "setting", "option"];

/**
 * A plugin for tables. Each cell gets the head of its column, which a narrow window shows beside the cell. A row that begins with
 * a name gets an id, so that one can link to it.
 */
export function nameRows(md: MarkdownRenderer): void {
  md.core.ruler.push("name-rows", ({ tokens }) => {
    const taken = new Set(tokens.map((token) => token.attrGet("id")));
    let heads: string[] = [];
    let column = 0;
    for (const [i, token] of tokens.entries()) {
      const text = (tokens[i + 1]?.content ?? "").replaceAll("`", "");
      if (token.type === "table_open") {
        token.attrJoin("class", "stacks");
        heads = [];
      } else if (token.type === "tr_open") column = 0;
      else if (token.type === "th_open") heads.push(text);
      else if (token.type === "td_open") {
        token.attrSet("data-head", heads[column] ?? "");
        if (column === 0 && NAMED.includes(heads[0] ?? "")) tokens[i - 1]?.attrSet("id", idOf(text, taken));
        column += 1;
      }
    }
  });
}

/** The id of a heading or a row, as GitHub makes it from a heading's text. */
export function slugOf(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

/** Adds the id to `taken`. The second row of a name gets a number. */
function idOf(name: string, taken: Set<string | null>): string {
  const slug = slugOf(name);
  let id = slug;
  for (let count = 1; taken.has(id); count += 1) id = `${slug}-${count}`;
  taken.add(id);
  return id;
}

const NAMED_ROW = /<tr id="([^"]+)">\s*<td[^>]*>(.*?)<\/td>(.*?)<\/tr>/gs;

/** Adds a section for each row that has an id to the HTML that the search reads, so that a search for a name finds its row first. */
export function withSectionsOfRows(html: string): string {
  const sections = [...html.matchAll(NAMED_ROW)].map(
    ([, id, name, rest]) => `<h3 id="${id}">${name} <a href="#${id}">#</a></h3>\n<p>${rest}</p>`,
  );
  return [html, ...sections].join("\n");
}
