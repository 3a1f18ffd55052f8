import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { messageOf } from "../../../src/core/errors.ts";
import { refresh } from "../api.ts";
import type { Act } from "../commands.ts";
import { useTopics } from "../reads.ts";
import { LOCAL_ZONE, now, say, theme, zone } from "../state.ts";
import { timeText } from "../times.ts";
import { Palette } from "./palette.tsx";
import { PauseTopic, ResumeTopic } from "./pause-topic.tsx";
import { MOVES, moveClock } from "./stack-clock.tsx";

export const isPaletteOpen = signal(false);

type Props = {
  readonly views: readonly { readonly name: string; readonly href: string }[];
  readonly openKeys: () => void;
};

/** The palette, and the dialogs that it opens. */
export function PaletteHost({ views, openKeys }: Props) {
  const { route } = useLocation();
  const [asked, setAsked] = useState<Act | undefined>();
  function act(wanted: Act): void {
    if ("opens" in wanted) {
      route(wanted.opens);
      // Another address of the same view does not move the focus by itself.
      document.getElementById("main")?.focus({ preventScroll: true });
    } else if ("does" in wanted) doIt(wanted.does, openKeys);
    else setAsked(wanted);
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
      {asked && <TopicDialog act={asked} close={() => setAsked(undefined)} />}
    </>
  );
}

function TopicDialog({ act, close }: { act: Act; close: () => void }) {
  const topics = useTopics();
  if ("pauses" in act) return <PauseTopic topic={act.pauses} opened={close} />;
  const topic = topics.data?.find((one) => "resumes" in act && one.topic === act.resumes);
  return topic?.pause ? <ResumeTopic {...topic} pause={topic.pause} opened={close} /> : null;
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
