import type { JsonObject } from "../template/template.ts";

const LOWERCASE = "abcdefghijklmnopqrstuvwxyz";
const NUMBERS = "0123456789";
const PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
const DEFAULT_LENGTH = 32;

/** See GetRandomPassword in the API reference of Secrets Manager. `pick(below)`: a random whole number of `[0, below)`. */
export function generateSecretString(properties: JsonObject, pick: (below: number) => number): string {
  const { SecretStringTemplate, GenerateStringKey } = properties;
  const password = randomPassword(properties, pick);
  if (typeof SecretStringTemplate !== "string") return password;
  return JSON.stringify({ ...JSON.parse(SecretStringTemplate), [String(GenerateStringKey)]: password });
}

function randomPassword(properties: JsonObject, pick: (below: number) => number): string {
  const is = (property: string) => String(properties[property] ?? false) === "true";
  const excluded = new Set(String(properties.ExcludeCharacters ?? ""));
  const kinds = [
    is("ExcludeLowercase") ? "" : LOWERCASE,
    is("ExcludeUppercase") ? "" : LOWERCASE.toUpperCase(),
    is("ExcludeNumbers") ? "" : NUMBERS,
    is("ExcludePunctuation") ? "" : PUNCTUATION,
    is("IncludeSpace") ? " " : "",
  ]
    .map((kind) => [...kind].filter((character) => !excluded.has(character)))
    .filter((kind) => kind.length > 0);
  const length = Number(properties.PasswordLength ?? DEFAULT_LENGTH);
  const needsEach = String(properties.RequireEachIncludedType ?? true) === "true";
  const from = (characters: readonly string[]) => characters[pick(characters.length)] ?? "";
  for (;;) {
    const password = Array.from({ length }, () => from(kinds.flat()));
    const hasEach = kinds.every((kind) => kind.some((character) => password.includes(character)));
    if (hasEach || !needsEach || length < kinds.length) return password.join("");
  }
}
