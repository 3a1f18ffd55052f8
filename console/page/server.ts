import { ABOUT_ID, type About, KEY_HEADER } from "../about.ts";

/** What the server says about itself in `index.html`. */
export const about: About = JSON.parse(document.getElementById(ABOUT_ID)?.textContent ?? "{}");

const KEPT_KEY = "minutehand-key";

/**
 * Answers the key that the page's address contained when it was opened first. The key is kept for the next tabs, and leaves the address, so
 * that a copied address does not contain it.
 */
function takeKey(): string {
  const key = new URLSearchParams(location.hash.slice(1)).get("key");
  if (key !== null) {
    localStorage.setItem(KEPT_KEY, key);
    history.replaceState(null, "", location.pathname + location.search);
  }
  return localStorage.getItem(KEPT_KEY) ?? "";
}

const key = about.needsKey ? takeKey() : "";

/** Whether the page can call the API. */
export const hasKey = !about.needsKey || key !== "";

/** The headers that each call of the API needs. */
export const callHeaders: Readonly<Record<string, string>> = about.needsKey ? { [KEY_HEADER]: key } : {};

/** The URL that producers of this queue call. */
export const apiUrl = about.url ?? location.origin;
