import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ErrorBoundary, lazy, useLocation } from "preact-iso";
import { refresh } from "./api.ts";
import { Choice } from "./parts/choice.tsx";
import { Health } from "./parts/health.tsx";
import {
  CalendarClock,
  ChartGantt,
  CircleX,
  Ellipsis,
  LayoutDashboard,
  List,
  ScrollText,
  Search,
  SquarePlus,
  X,
} from "./parts/icon.tsx";
import { listenEverywhere, listenToKeys } from "./parts/keys.ts";
import { isPaletteOpen, PaletteHost } from "./parts/palette-host.tsx";
import { addresses } from "./parts/search.ts";
import { StackClock } from "./parts/stack-clock.tsx";
import { Time } from "./parts/time.tsx";
import { useTopics } from "./reads.ts";
import { about, isKeyWrong } from "./server.ts";
import {
  asked,
  forgetNotice,
  hasBottomBar,
  LOCAL_ZONE,
  type Notice,
  notice,
  now,
  THEMES,
  type Theme,
  theme,
  zone,
} from "./state.ts";
import { ZONES, zoneName } from "./times.ts";
import { KeyMissing } from "./views/key-missing.tsx";

// Loaded after the first view, because there is seldom such an action.
const CarriedActions = lazy(() => import("./parts/carried-actions.tsx").then((part) => part.CarriedActions));

/** The views of the navigation, each with the key that opens it after `g`. */
const VIEWS = [
  { name: "Overview", href: addresses.overview, key: "o", icon: LayoutDashboard },
  { name: "Time", href: addresses.time(), key: "t", icon: ChartGantt },
  { name: "Jobs", href: addresses.jobs(), key: "j", icon: List },
  { name: "Dead", href: addresses.dead(), key: "d", icon: CircleX },
  { name: "Schedules", href: addresses.schedules, key: "s", icon: CalendarClock },
  ...(about.hasLive ? [{ name: "Live", href: addresses.live(), key: "l", icon: ScrollText }] : []),
  { name: "Enqueue", href: addresses.enqueue(), key: "e", icon: SquarePlus },
];
/** The last one is opened seldom, so it stands only here and where actions are begun. */
const PALETTE_VIEWS = [...VIEWS, { name: "Last actions on many jobs", href: addresses.lastActions }];
/** On a phone the other views stand behind "More". */
const IN_BOTTOM_BAR = 5;

/** The key of a Mac's shortcuts has another name. */
const MODIFIER = /mac|iphone|ipad/i.test(navigator.userAgent) ? "⌘" : "Ctrl";

const OTHER_KEYS = [
  ["/", "search for jobs, or go to a view, a topic or an action"],
  [`${MODIFIER} k`, "the same, also from a field"],
  ["r", "read everything again"],
  ["?", "show the keys"],
  ["Esc", "close a dialog"],
  ["j and k", "go to the next and the previous line of a list"],
  ["+ and -", "Time: show a shorter or a longer range"],
  ["← and →", "Time: move the range; on a lane: go to the bar before or after"],
  ["n", "Time: move the range to now"],
  ["Enter", "open the line or press the button that has the focus"],
] as const;

/** The name of the queue, the navigation, the search, the settings, and what the last action did. */
export function Frame({ children }: { children: ComponentChildren }) {
  const { path } = useLocation();
  const keys = useRef<HTMLDialogElement>(null);
  const main = useRef<HTMLElement>(null);
  const title = useTitle(main, path);
  useKeptFocus(main);
  useEffect(() => {
    // If an action opened this view, its notice is for this view and stays.
    if (notice.value?.path !== path) forgetNotice();
  }, [path]);
  useKeys(keys, main);
  const openKeys = () => keys.current?.showModal();
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      {!hasBottomBar.value && <Rail path={path} openKeys={openKeys} />}
      <div class="page">
        <header class="top">
          {hasBottomBar.value && <ViewOnly />}
          {hasBottomBar.value && !isKeyWrong.value && <Health />}
          <OpenPalette />
        </header>
        <main id="main" ref={main} tabIndex={-1}>
          <NoticeLine />
          {isKeyWrong.value ? <KeyMissing /> : children}
        </main>
        <InProgress />
      </div>
      {hasBottomBar.value && <BottomBar path={path} openKeys={openKeys} />}
      <p class="hidden" aria-live="polite">
        {title}
      </p>
      <KeysDialog dialog={keys} />
      <PaletteHost views={PALETTE_VIEWS} openKeys={openKeys} />
    </>
  );
}

type BarProps = { readonly path: string; readonly openKeys: () => void };

/** The left side of a wide window. */
function Rail({ path, openKeys }: BarProps) {
  return (
    <aside class="rail" aria-label="Queue, views and settings">
      <a class="brand" href={addresses.overview}>
        Minutehand <span>{about.queue}</span>
      </a>
      <ViewOnly />
      {!isKeyWrong.value && <Health />}
      <nav aria-label="Views">
        <Links views={VIEWS} path={path} />
      </nav>
      <Settings openKeys={openKeys} />
    </aside>
  );
}

function InProgress() {
  return (
    <ErrorBoundary>
      <CarriedActions />
    </ErrorBoundary>
  );
}

function ViewOnly() {
  return about.isViewOnly ? <span class="badge held">view only</span> : null;
}

/** The lower edge of a narrow window. */
function BottomBar({ path, openKeys }: BarProps) {
  const more = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (path !== "") more.current?.close();
  }, [path]);
  return (
    <div class="bottom-bar">
      <nav aria-label="Views">
        <Links views={VIEWS.slice(0, IN_BOTTOM_BAR)} path={path} />
        <button type="button" class="more-button" onClick={() => more.current?.showModal()}>
          <Ellipsis class="icon" size={20} aria-hidden="true" />
          More
        </button>
      </nav>
      <dialog ref={more} class="more" aria-labelledby="more-title">
        <h2 id="more-title">
          Minutehand <span class="quiet">{about.queue}</span>
        </h2>
        <nav aria-label="More views">
          <Links views={VIEWS.slice(IN_BOTTOM_BAR)} path={path} />
        </nav>
        <Settings openKeys={openKeys} />
        <form method="dialog" class="buttons">
          <button type="submit">Close</button>
        </form>
      </dialog>
    </div>
  );
}

function Links({ views, path }: { views: readonly (typeof VIEWS)[number][]; path: string }) {
  return (
    <>
      {views.map(({ name, href, icon: Icon }) => (
        <a key={name} href={href} title={name} aria-current={isShown(path, href) ? "page" : undefined}>
          <Icon class="icon" size={hasBottomBar.value ? 20 : 16} aria-hidden="true" />
          <span class="nav-name">{name}</span>
          {name === "Dead" && !isKeyWrong.value && <DeadCount />}
        </a>
      ))}
    </>
  );
}

/** A screen reader hears the number on the overview and in the view, and the link's name stays the same. */
function DeadCount() {
  const topics = useTopics();
  const dead = topics.data?.reduce((sum, topic) => sum + topic.dead.count, 0) ?? 0;
  if (dead === 0) return null;
  return (
    <span class="count" aria-hidden="true">
      {dead > 999 ? "999+" : dead}
    </span>
  );
}

function useKeys(keys: RefObject<HTMLDialogElement>, main: RefObject<HTMLElement>): void {
  const { route } = useLocation();
  const routing = useRef(route);
  routing.current = route;
  useEffect(() => {
    // A new view must not forget that `g` was pressed, so the keys are registered once.
    const opens = VIEWS.map(({ href, key }) => [`g ${key}`, () => routing.current(href)] as const);
    const handlers = {
      ...Object.fromEntries(opens),
      // On some keyboards these two signs need the Shift key.
      "[Shift]+/": openPalette,
      r: () => void refresh(),
      "[Shift]+?": () => keys.current?.showModal(),
      j: () => moveFocus(main.current, 1),
      k: () => moveFocus(main.current, -1),
    };
    return listenToKeys(handlers);
  }, [keys, main]);
  useEffect(() => listenEverywhere("$mod+k", openPalette), []);
}

function openPalette(): void {
  isPaletteOpen.value = true;
}

/**
 * Names the tab after the view's heading, or the path. Moves the focus to the content when the path changes, because the link that had it
 * may be gone. Answers the name, for screen readers.
 */
function useTitle(main: RefObject<HTMLElement>, path: string): string {
  const [title, setTitle] = useState("");
  const isFirst = useRef(true);
  useEffect(() => {
    // The browser moves the focus only when it loads a page. A view that replaces another must get the focus, so that it is read out.
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [main, path]);
  useEffect(() => {
    const read = () => {
      const name = main.current?.querySelector("h1")?.textContent || titleOf(path);
      setTitle(name);
      document.title = [name, about.queue, "Minutehand"].filter((part) => part !== "").join(" · ");
    };
    read();
    // The heading may change later, because some views must first read the name of what they show.
    const observer = new MutationObserver(read);
    if (main.current) observer.observe(main.current, { childList: true, characterData: true, subtree: true });
    return () => observer.disconnect();
  }, [main, path]);
  return title;
}

function titleOf(path: string): string {
  const view = VIEWS.find(({ href }) => isShown(path, href));
  const [, , , id] = path.split("/");
  const name = view?.name ?? "No such view";
  return id === undefined ? name : `${decodeURIComponent(id)} · ${name}`;
}

/** The content gets the focus when the element that had it is removed or disabled. An element that was only moved gets it back. */
function useKeptFocus(main: RefObject<HTMLElement>): void {
  useEffect(() => {
    const place = main.current;
    if (place === null) return;
    let last: Element | undefined;
    const remember = ({ target }: FocusEvent) => {
      last = target as Element;
    };
    const observer = new MutationObserver((changes) => {
      const had = last;
      if (had === undefined || ![document.body, had].includes(document.activeElement ?? document.body))
        return;
      const isLost = !had.isConnected || had.matches(":disabled");
      const isMoved = changes.some(({ removedNodes }) =>
        [...removedNodes].some((node) => node.contains(had)),
      );
      if (isLost) place.focus({ preventScroll: true });
      else if (isMoved) (had as HTMLElement).focus({ preventScroll: true });
    });
    place.addEventListener("focusin", remember);
    observer.observe(place, { childList: true, subtree: true, attributeFilter: ["disabled"] });
    return () => {
      place.removeEventListener("focusin", remember);
      observer.disconnect();
    };
  }, [main]);
}

function isShown(path: string, href: string): boolean {
  const [view = ""] = href.split("?");
  return path === view || (view !== addresses.overview && path.startsWith(`${view}/`));
}

/** Moves the focus to the next (1) or the previous (-1) line of the list that the view shows. */
function moveFocus(main: HTMLElement | null, by: 1 | -1): void {
  const lines = [...(main?.querySelectorAll<HTMLElement>("[data-line]") ?? [])];
  const at = lines.indexOf(document.activeElement as HTMLElement);
  const next = at === -1 ? lines[by === 1 ? 0 : lines.length - 1] : lines[at + by];
  next?.focus();
}

function OpenPalette() {
  return (
    <search>
      <button type="button" class="open-palette" onClick={openPalette}>
        <Search class="icon" size={16} aria-hidden="true" />
        Search, or go to …{!hasBottomBar.value && <kbd>{MODIFIER} K</kbd>}
      </button>
    </search>
  );
}

function Settings({ openKeys }: { openKeys: () => void }) {
  return (
    <div class="settings">
      <div class="pair">
        <ZoneChoice />
        <Choice
          label={<span class="hidden">Colours</span>}
          value={theme.value}
          options={THEMES}
          onChange={(name) => {
            theme.value = name as Theme;
          }}
        />
      </div>
      <div class="pair">
        {about.hasLive && <StackClock />}
        <button type="button" onClick={openKeys} aria-label="Show the keys">
          <kbd>?</kbd>
        </button>
      </div>
    </div>
  );
}

function ZoneChoice() {
  return (
    <Choice
      label={<span class="hidden">Time zone</span>}
      value={zone.value}
      options={[...new Set([LOCAL_ZONE, ...ZONES])]}
      textOf={(name) => (name === LOCAL_ZONE ? zoneName(now.peek(), name) : name)}
      onChange={(name) => {
        zone.value = name;
      }}
    />
  );
}

function NoticeLine() {
  const said = notice.value;
  return (
    <div class="notice-place" role="status">
      {said && (
        <p class={said.isFailure ? "notice failed" : "notice"}>
          <span>
            {said.text}{" "}
            <span class="quiet">
              <Time at={said.at} show="time" />
            </span>{" "}
            {said.href && <a href={said.href}>{said.link ?? "Show"}</a>}
            {said.undo && <UndoButton {...said.undo} />}
          </span>
          <button type="button" aria-label="Close this message" onClick={forgetNotice}>
            <X class="icon" size={16} aria-hidden="true" />
          </button>
        </p>
      )}
    </div>
  );
}

function UndoButton({ label, act }: NonNullable<Notice["undo"]>) {
  return (
    <button
      type="button"
      onClick={() => {
        asked.value = act;
      }}
    >
      {label} …
    </button>
  );
}

function KeysDialog({ dialog }: { dialog: { current: HTMLDialogElement | null } }) {
  return (
    <dialog ref={dialog} aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl class="keys">
        {[...VIEWS.map(({ name, key }) => [`g ${key}`, `open ${name}`]), ...OTHER_KEYS].map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog" class="buttons">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
