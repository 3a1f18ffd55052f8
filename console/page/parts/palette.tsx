import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Act, type Command, commandsFor, commandsOf } from "../commands.ts";
import { useSchedules, useTopics } from "../reads.ts";
import { about } from "../server.ts";
import { MINUTE } from "../times.ts";
import { Search } from "./icon.tsx";

type Props = {
  readonly views: readonly { readonly name: string; readonly href: string }[];
  readonly act: (act: Act) => void;
  readonly close: () => void;
};

/** A field and what matches its text: views, topics, schedules, settings, and the search for jobs. */
export function Palette({ views, act, close }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  // Before the next key is pressed, so that a text that is typed at once is not lost.
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const commands = commandsFor(text, useCommands(views));
  const at = Math.min(chosen, commands.length - 1);
  function run(command: Command | undefined): void {
    if (command === undefined) return;
    dialog.current?.close();
    act(command.act);
  }
  function press(event: KeyboardEvent): void {
    // Enter may end the input of a character, in languages with many of them.
    if (event.isComposing) return;
    const next = movedTo(event.key, at, commands.length);
    if (event.key === "Enter") run(commands[at]);
    if (next === undefined && event.key !== "Enter") return;
    event.preventDefault();
    if (next !== undefined) setChosen(next);
  }
  return (
    // A press beside the dialog closes it, in browsers that know `closedby`.
    <dialog ref={dialog} class="palette" aria-label="Search, or go to" onClose={close} closedby="any">
      <Field
        text={text}
        at={at}
        press={press}
        type={(typed) => {
          setText(typed);
          setChosen(0);
        }}
        close={() => dialog.current?.close()}
      />
      <Options commands={commands} at={at} choose={setChosen} run={run} />
    </dialog>
  );
}

type FieldProps = {
  readonly text: string;
  /** The number of the chosen line. */
  readonly at: number;
  readonly type: (text: string) => void;
  readonly press: (event: KeyboardEvent) => void;
  readonly close: () => void;
};

function Field({ text, at, type, press, close }: FieldProps) {
  return (
    <div class="palette-field">
      <Search class="icon" size={16} aria-hidden="true" />
      <input
        type="text"
        role="combobox"
        aria-label="Search for jobs, or go to a view, a topic or an action"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={`palette-${at}`}
        aria-autocomplete="list"
        autocomplete="off"
        spellcheck={false}
        placeholder="A job's key, id or words; a view, topic or action"
        value={text}
        onInput={({ currentTarget }) => type(currentTarget.value)}
        onKeyDown={press}
      />
      <button type="button" onClick={close}>
        Close
      </button>
    </div>
  );
}

const PAGE = 8;

/** Which line an arrow chooses: after the last one the first. `undefined` for another key. */
function movedTo(key: string, at: number, count: number): number | undefined {
  if (key === "ArrowDown") return (at + 1) % count;
  if (key === "ArrowUp") return (at + count - 1) % count;
  if (key === "PageDown") return Math.min(at + PAGE, count - 1);
  if (key === "PageUp") return Math.max(at - PAGE, 0);
  return undefined;
}

function useCommands(views: Props["views"]): Command[] {
  const topics = useTopics();
  const schedules = useSchedules(MINUTE);
  return commandsOf({
    views,
    topics: topics.data ?? [],
    schedules: schedules.data ?? [],
    isLocal: about.hasLive,
    isViewOnly: about.isViewOnly === true,
  });
}

type OptionsProps = {
  readonly commands: readonly Command[];
  readonly at: number;
  readonly choose: (at: number) => void;
  readonly run: (command: Command) => void;
};

function Options({ commands, at, choose, run }: OptionsProps) {
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => list.current?.children[at]?.scrollIntoView({ block: "nearest" }), [at]);
  return (
    <div ref={list} class="palette-list" id="palette-list" role="listbox" aria-label="What matches">
      {commands.map((command, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus, and its keys choose
        <div
          key={`${command.kind} ${command.name}`}
          id={`palette-${index}`}
          role="option"
          aria-selected={index === at}
          tabIndex={-1}
          // A pointer that lies where the list is drawn has not moved, and chooses nothing.
          onPointerMove={() => choose(index)}
          onClick={() => run(command)}
        >
          <span class="palette-name">{command.name}</span>
          <span class="quiet">{command.kind}</span>
        </div>
      ))}
    </div>
  );
}
