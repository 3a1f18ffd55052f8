import { expect, test } from "vitest";
import { generateSecretString } from "../../../local/services/random-password.ts";

/** Counts up instead of picking at random, so that every character is picked in turn. */
function turning(): (below: number) => number {
  let turn = 0;
  return (below) => {
    turn += 7;
    return turn % below;
  };
}
const generate = (properties: Parameters<typeof generateSecretString>[0]) =>
  generateSecretString(properties, turning());

test("by default a password has 32 characters, with at least one of each kind", () => {
  const value = generate({});
  expect(value).toHaveLength(32);
  for (const kind of [/[a-z]/, /[A-Z]/, /\d/, /[^a-zA-Z0-9 ]/]) expect(value).toMatch(kind);
  expect(value).not.toContain(" ");
});

test.each([
  [{ ExcludePunctuation: true, PasswordLength: 44 }, /^[A-Za-z0-9]{44}$/],
  [{ ExcludeLowercase: true, ExcludeUppercase: true, ExcludePunctuation: true }, /^\d{32}$/],
  [{ ExcludeNumbers: true, ExcludePunctuation: true, ExcludeCharacters: "abcABC" }, /^[d-zD-Z]{32}$/],
  [{ IncludeSpace: true, PasswordLength: 99 }, / /],
])("the password follows %j", (properties, form) => {
  expect(generate(properties)).toMatch(form);
});

test("a password is generated again until it has each kind of character", () => {
  let draws = 0;
  const properties = { ExcludeNumbers: true, ExcludePunctuation: true, PasswordLength: 2 };
  const pick = (below: number) => (draws++ < 2 ? 0 : (draws % 2) * (below - 1));
  expect(generateSecretString(properties, pick)).toBe("Za");
});

test("a SecretStringTemplate gets the password under GenerateStringKey", () => {
  const properties = { SecretStringTemplate: '{"user":"me"}', GenerateStringKey: "password" };
  expect(JSON.parse(generate(properties))).toEqual({ user: "me", password: expect.any(String) });
});
