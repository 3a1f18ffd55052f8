import { invalid } from "./refusals.ts";

/**
 * `name`: without quotes. `quoted`: in double quotes. `text`: in single quotes. `placeholder`: `#name`, `:value`, `?2` for the third `?`.
 */
export type Token = {
  readonly kind: "name" | "quoted" | "placeholder" | "number" | "text" | "symbol";
  readonly text: string;
};

const TOKEN =
  /\s*(?:([#:]\w+)|(\?)|([A-Za-z_]\w*)|"((?:[^"]|"")*)"|'((?:[^']|'')*)'|(-?\d+(?:\.\d+)?)|(<=|>=|<>|!=|[=<>()[\]{}.,:+-]))/y;

export type Reader = {
  /** Takes the next token if it is this symbol, or this word in any case. */
  readonly take: (text: string) => boolean;
  readonly expect: (text: string) => void;
  readonly takeKind: (kind: Token["kind"]) => string | undefined;
  readonly peek: () => Token | undefined;
  readonly peekSecond: () => Token | undefined;
  readonly end: () => void;
  readonly fail: () => Error;
};

/** Reads expressions and PartiQL statements. `what` begins the text of an error, as in `Invalid UpdateExpression`. */
export function readerOf(source: string, what: string): Reader {
  const tokens = tokensOf(source, what);
  let at = 0;
  const fail = () =>
    invalid(`${what}: Syntax error; token: "${tokens[at]?.text ?? "<EOF>"}", in: "${source}"`);
  const isNext = (text: string) => {
    const next = tokens[at];
    if (next?.kind !== "name" && next?.kind !== "symbol") return false;
    return next.text.toUpperCase() === text.toUpperCase();
  };
  const take = (text: string) => {
    if (!isNext(text)) return false;
    at += 1;
    return true;
  };
  return {
    take,
    expect: (text) => {
      if (!take(text)) throw fail();
    },
    takeKind: (kind) => {
      const next = tokens[at];
      if (next?.kind !== kind) return undefined;
      at += 1;
      return next.text;
    },
    peek: () => tokens[at],
    peekSecond: () => tokens[at + 1],
    end: () => {
      if (at < tokens.length) throw fail();
    },
    fail,
  };
}

function tokensOf(source: string, what: string): Token[] {
  const tokens: Token[] = [];
  let parameters = 0;
  TOKEN.lastIndex = 0;
  const text = source.trimEnd();
  while (TOKEN.lastIndex < text.length) {
    const from = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match)
      throw invalid(`${what}: Syntax error; token: "${text.slice(from, from + 20)}", in: "${source}"`);
    const [, placeholder, parameter, name, quoted, literal, number, symbol] = match;
    if (placeholder !== undefined) tokens.push({ kind: "placeholder", text: placeholder });
    else if (parameter !== undefined) tokens.push({ kind: "placeholder", text: `?${parameters++}` });
    else if (name !== undefined) tokens.push({ kind: "name", text: name });
    else if (quoted !== undefined) tokens.push({ kind: "quoted", text: quoted.replaceAll('""', '"') });
    else if (literal !== undefined) tokens.push({ kind: "text", text: literal.replaceAll("''", "'") });
    else if (number !== undefined) tokens.push({ kind: "number", text: number });
    else tokens.push({ kind: "symbol", text: symbol ?? "" });
  }
  return tokens;
}
