import { signal } from "@preact/signals";
import { ABOUT_ID, type About, KEY_HEADER } from "../about.ts";

export const about: About = JSON.parse(document.getElementById(ABOUT_ID)?.textContent ?? "{}");

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

/** Read once: if another queue is served on the same port, an open page must not change its jobs, whose name it does not show. */
const key = about.needsKey ? takeKey() : "";

export const callHeaders: Readonly<Record<string, string>> = about.needsKey ? { [KEY_HEADER]: key } : {};

/** Whether the server does not accept the page's key, or the page has no key. */
export const isKeyWrong = signal(about.needsKey && key === "");

// Another tab has got a key, so load this page again with the new key.
addEventListener("storage", ({ key: changed }) => {
  if (changed === KEPT_KEY && isKeyWrong.value) location.reload();
});

export const apiUrl = about.url ?? location.origin;
