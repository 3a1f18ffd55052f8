type Tag = { readonly Key?: string | undefined; readonly Value?: string | undefined };

/** The tags by their names, without those of AWS itself, which nobody else can set. */
export function ownTags(tags: readonly Tag[] = []): Record<string, string> {
  const own = tags.filter(({ Key = "" }) => !Key.startsWith("aws:"));
  return Object.fromEntries(own.map(({ Key = "", Value = "" }) => [Key, Value]));
}
