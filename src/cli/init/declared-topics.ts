/** Whether a file with the type `Topics` declares a topic. The name may stand without quotes, as a formatter writes it. */
export function declares(file: string, topic: string): boolean {
  const [, members = ""] = withoutComments(file).split(/\bTopics\b[^{]*\{/);
  return named(topic).test(outerLevel(members));
}

/** Whether a declared topic has the body of `init`. */
export function hasUsualBody(file: string, topic: string): boolean {
  const usual = named(topic, "\\s*\\{\\s*id\\s*:\\s*string\\s*[;,]?\\s*\\}");
  return usual.test(withoutComments(file));
}

/** A topic's name has only letters, digits and hyphens, so nothing in it needs an escape. `body`: what must follow. */
function named(topic: string, body = ""): RegExp {
  return new RegExp(`(?:^|[;,{}\\s])["']?${topic}["']?\\s*:${body}`);
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
}

/** The text up to the brace that closes the type, without what stands in further braces: a field of a body is no topic. */
function outerLevel(text: string): string {
  let depth = 0;
  let outer = "";
  for (const character of text) {
    if (character === "}" && --depth < 0) break;
    if (depth === 0) outer += character;
    if (character === "{") depth++;
  }
  return outer;
}
