import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { ErrorBoundary, lazy, useLocation } from "preact-iso";
import { messageOf } from "../../../src/core/errors.ts";
import type { TopicJson } from "../../../src/http/answers/topics.ts";
import { refresh } from "../api.ts";
import type { Act } from "../commands.ts";
import { useTopics } from "../reads.ts";
import { asked, LOCAL_ZONE, now, say, theme, zone } from "../state.ts";
import { timeText } from "../times.ts";
import { Palette } from "./palette.tsx";
import { PauseTopic, ResumeTopic } from "./pause-topic.tsx";
import { MOVES, moveClock } from "./stack-clock.tsx";

// Loaded after the first view, because they undo what was done there.
const PutBackDialog = lazy(() => import("./put-back.tsx").then((part) => part.PutBackDialog));
const ShiftBack = lazy(() => import("./shift-back.tsx").then((part) => part.ShiftBack));

export const isPaletteOpen = signal(false);

type Props = {
  readonly views: readonly { readonly name: string; readonly href: string }[];
  readonly openKeys: () => void;
};

/** The palette, and the dialogs that it opens. */
export function PaletteHost({ views, openKeys }: Props) {
  const { route } = useLocation();
  function act(wanted: Act): void {
    if ("opens" in wanted) {
      route(wanted.opens);
      // Another address of the same view does not move the focus by itself.
      document.getElementById("main")?.focus({ preventScroll: true });
    } else if ("does" in wanted) doIt(wanted.does, openKeys);
    else asked.value = wanted;
  }
  return (
    <>
      {isPaletteOpen.value && (
        <Palette
          views={views}
          act={act}
          close={() => {
            isPaletteOpen.value = false;
          }}
        />
      )}
      <ErrorBoundary>{asked.value && <AskedDialog act={asked.value} close={forgetAsked} />}</ErrorBoundary>
    </>
  );
}

function forgetAsked(): void {
  asked.value = undefined;
}

function AskedDialog({ act, close }: { act: Act; close: () => void }) {
  if ("pauses" in act) return <PauseTopic topic={act.pauses} opened={close} />;
  if ("shiftsBack" in act) return <ShiftBack action={act.shiftsBack} close={close} />;
  if ("putsBack" in act) return <PutBackDialog change={act.putsBack} close={close} />;
  return "resumes" in act ? <ResumeDialog topic={act.resumes} close={close} /> : null;
}

/** If somebody else resumes the topic meanwhile, the dialog keeps what it has shown, until the user closes it. */
function ResumeDialog({ topic, close }: { topic: string; close: () => void }) {
  const { data, isFetching } = useTopics();
  const shown = useRef<TopicJson | undefined>(undefined);
  const found = data?.find((one) => one.topic === topic);
  if (found?.pause) shown.current = found;
  const isMissing = shown.current === undefined && !isFetching;
  useEffect(() => {
    if (!isMissing) return;
    say({ text: `${topic} is not paused, so there is nothing to resume.`, isFailure: true });
    close();
  }, [isMissing, topic, close]);
  const { pause } = shown.current ?? {};
  return shown.current && pause ? <ResumeTopic {...shown.current} pause={pause} opened={close} /> : null;
}

type Deed = Extract<Act, { does: unknown }>["does"];

function doIt(what: Deed, openKeys: () => void): void {
  if (what === "keys") openKeys();
  else if (what === "refresh") void refresh();
  else if (what === "zone") zone.value = zone.value === "UTC" ? LOCAL_ZONE : "UTC";
  else if (what === "auto" || what === "light" || what === "dark") theme.value = what;
  else void moveOn(what);
}

async function moveOn(what: keyof typeof MOVES): Promise<void> {
  try {
    await moveClock(MOVES[what].move);
    say({ text: `The clock of the local stack was moved to ${timeText(now.value, now.value, zone.value)}.` });
  } catch (error) {
    say({ text: `The clock was not moved: ${messageOf(error)}.`, isFailure: true });
  }
}
