/** Where the values of a JSON text stand. The text may have comments and trailing commas, as `tsconfig.json` has. */

/** `start` and `end` are offsets in the text. */
export type Place = {
  readonly start: number;
  readonly end: number;
  /** Absent if the value is no object. */
  readonly members?: readonly Member[];
};
export type Member = { readonly key: string; readonly start: number; readonly value: Place };

type Token = { readonly text: string; readonly start: number; readonly end: number };

const TOKEN = /"(?:\\.|[^"\\])*"|\/\/.*|\/\*[\s\S]*?\*\/|[{}[\],:]|[^\s"{}[\],:/]+/g;
const COMMENT = /^\/[/*]/;

/** Finds the object at the path, or `undefined` if there is none. `text` must be valid. */
export function objectAt(text: string, path: readonly string[]): Required<Place> | undefined {
  let place: Place | undefined = placeOf(tokensOf(text));
  for (const key of path) place = place?.members?.find((member) => member.key === key)?.value;
  return place?.members && { ...place, members: place.members };
}

export function withoutComments(text: string): string {
  return text.replaceAll(/("(?:\\.|[^"\\])*")|\/\/.*|\/\*[\s\S]*?\*\//g, "$1");
}

function* tokensOf(text: string): Generator<Token, undefined> {
  for (const { 0: token, index } of text.matchAll(TOKEN))
    if (!COMMENT.test(token)) yield { text: token, start: index, end: index + token.length };
}

function placeOf(tokens: Iterator<Token, undefined>, first = nextOf(tokens)): Place {
  const { start } = first;
  if (first.text !== "{" && first.text !== "[") return { start, end: first.end };
  const members: Member[] = [];
  for (;;) {
    const token = nextOf(tokens);
    if (token.text === "}") return { start, end: token.end, members };
    if (token.text === "]") return { start, end: token.end };
    if (token.text === ",") continue;
    if (first.text === "[") placeOf(tokens, token);
    else {
      nextOf(tokens); // the colon
      members.push({ key: JSON.parse(token.text), start: token.start, value: placeOf(tokens) });
    }
  }
}

function nextOf(tokens: Iterator<Token, undefined>): Token {
  const { value } = tokens.next();
  if (value === undefined) throw new SyntaxError("the JSON text ends too early");
  return value;
}
