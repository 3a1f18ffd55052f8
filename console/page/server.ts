import { signal } from "@preact/signals";
import { ABOUT_ID, ABOUT_PATH, type About, ASK, KEY_HEADER } from "../about.ts";

const told: About | typeof ASK = JSON.parse(document.getElementById(ABOUT_ID)?.textContent ?? "{}");

const KEPT_KEY = "minutehand-key";

/** Kept for the next tabs, and taken out of the address, so that a copied address does not contain it. */
function takeKey(): string {
  const key = new URLSearchParams(location.hash.slice(1)).get("key");
  if (key !== null) {
    localStorage.setItem(KEPT_KEY, key);
    history.replaceState(null, "", location.pathname + location.search);
  }
  return localStorage.getItem(KEPT_KEY) ?? "";
}

const key = told === ASK ? takeKey() : "";

export const callHeaders: Readonly<Record<string, string>> = told === ASK ? { [KEY_HEADER]: key } : {};

/** `undefined`: the page has no key, or its server does not accept the key. */
async function askAbout(): Promise<About | undefined> {
  if (key === "") return undefined;
  const answered = await fetch(ABOUT_PATH, { headers: callHeaders }).catch(() => undefined);
  return answered?.ok ? ((await answered.json()) as About) : undefined;
}

const known = told === ASK ? await askAbout() : told;
/** Without an accepted key the page knows nothing about the queue. */
export const about: About = known ?? { queue: "", auth: "none", hasLive: false };

/** Whether the server does not accept the page's key, or the page has no key. */
export const isKeyWrong = signal(known === undefined);

// Another tab has got a key, so load this page again with the new key.
addEventListener("storage", ({ key: changed }) => {
  if (changed === KEPT_KEY && isKeyWrong.value) location.reload();
});

export const apiUrl = about.url ?? location.origin;
