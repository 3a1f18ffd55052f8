import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { MinutehandError, messageOf } from "../../../src/core/errors.ts";
import { refresh } from "../api.ts";
import { about as server } from "../server.ts";
import { forgetNotice, type Notice, say } from "../state.ts";
import { ReasonField, type Why, whyOf } from "./reason-field.tsx";
import { addresses } from "./search.ts";

type Props = {
  /** The text of the button, such as `Cancel`. */
  readonly label: string;
  /** The text of the button where its place is narrow. Its name is still the label. */
  readonly short?: string | undefined;
  /** What the action is about, such as a topic. Needed if a view has several buttons with the same text. */
  readonly of?: string;
  /** What will happen, as a question, such as `Cancel this job?` */
  readonly title: string;
  readonly children: ComponentChildren;
  /** Does the action, and answers what it did, if the page does not show that elsewhere. The dialog shows an error that it throws. */
  readonly run: (why: Why) => Promise<Notice | string | undefined>;
  /** Whether the user may say why. */
  readonly takesReason?: boolean;
  /** The text of the dialog's button, which starts the action. Default: `label`. */
  readonly confirm?: string;
  readonly isDangerous?: boolean;
  /** Why the action is not possible now. The button's title says so. If the user presses the button, the page says so too. */
  readonly impossible?: string | undefined;
  readonly isReady?: boolean;
  /** Without a button: the dialog is open from the beginning. */
  readonly isOpenAtOnce?: boolean;
  /** What the action would change now. When this is another object, the dialog forgets the error of an earlier try. */
  readonly about?: unknown;
  readonly onOpen?: () => void;
  readonly onClose?: () => void;
};

/** Why nothing can be changed in a console that was started with `--view-only`. Its server refuses changes too. */
export const VIEW_ONLY = "this console is view only, and changes nothing";

/** A dialog first says what the action will do. It shows the API's error. Afterwards the page says what the action did. */
export function Action({ label, confirm = label, isReady = true, ...props }: Props) {
  const { short, of, title, children, run, takesReason, isDangerous, onOpen, onClose } = props;
  const impossible = server.isViewOnly ? VIEW_ONLY : props.impossible;
  const isOpenAtOnce = props.isOpenAtOnce === true;
  const [isOpen, setOpen] = useState(isOpenAtOnce);
  useEffect(() => {
    if (isOpenAtOnce) onOpen?.();
  }, [isOpenAtOnce]);
  function open(): void {
    onOpen?.();
    setOpen(true);
  }
  return (
    <>
      {!isOpenAtOnce && <ActionButton {...{ label, short, of, isDangerous, impossible, open }} />}
      {isOpen && (
        <ActionDialog
          {...{ title, run, confirm, isReady, about: props.about }}
          takesReason={takesReason === true}
          isDangerous={isDangerous === true}
          close={() => {
            setOpen(false);
            onClose?.();
          }}
        >
          {children}
        </ActionDialog>
      )}
    </>
  );
}

type ButtonProps = Pick<Props, "label" | "short" | "impossible"> & {
  readonly of: string | undefined;
  readonly isDangerous: boolean | undefined;
  readonly open: () => void;
};

function ActionButton({ label, short, of, isDangerous, impossible, open }: ButtonProps) {
  return (
    <button
      type="button"
      class={isDangerous ? "danger" : ""}
      aria-label={of ? `${label} ${of} …` : short && `${label} …`}
      // A disabled button cannot get the focus, so it could not say why its action is impossible.
      aria-disabled={impossible !== undefined}
      title={impossible}
      onClick={() => {
        if (impossible !== undefined) return say({ text: `${label}: ${impossible}.`, isFailure: true });
        forgetNotice();
        open();
      }}
    >
      {short ?? `${label} …`}
    </button>
  );
}

type DialogProps = Pick<Props, "title" | "children" | "run" | "about"> & {
  readonly confirm: string;
  readonly takesReason: boolean;
  readonly isReady: boolean;
  readonly isDangerous: boolean;
  readonly close: () => void;
};

function ActionDialog({ title, children, run, confirm, close, ...props }: DialogProps) {
  const { takesReason, isReady, isDangerous } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [reason, setReason] = useState("");
  const { submit, error, isRunning } = useSubmit(dialog, () => run(whyOf(reason)), confirm, props.about);
  useShown(dialog, confirm, isRunning);
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="action-title">
      <form onSubmit={(event) => void submit(event)}>
        <h2 id="action-title">{title}</h2>
        {children}
        {takesReason && <ReasonField value={reason} onChange={setReason} />}
        {error !== undefined && <ActionError error={error} />}
        <div class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
          <button
            type="submit"
            class={isDangerous ? "danger primary" : "primary"}
            disabled={!isReady || isRunning}
          >
            {isRunning ? "Working …" : confirm}
          </button>
        </div>
      </form>
    </dialog>
  );
}

/** Opens the dialog. If it disappears while it is open, because its action has become impossible, the page says so. */
function useShown(dialog: RefObject<HTMLDialogElement>, confirm: string, isRunning: boolean): void {
  const isBusy = useRef(isRunning);
  isBusy.current = isRunning;
  useEffect(() => {
    const { current: shown } = dialog;
    const { pathname } = location;
    shown?.showModal();
    return () => {
      if (!shown?.open || isBusy.current || location.pathname !== pathname) return;
      const text = `"${confirm}" is not possible any more, because somebody has changed the state meanwhile. Nothing was done.`;
      say({ text, isFailure: true });
    };
  }, []);
}

function useSubmit(
  dialog: RefObject<HTMLDialogElement>,
  run: () => ReturnType<Props["run"]>,
  confirm: string,
  about: unknown,
) {
  const [error, setError] = useState<unknown>();
  useEffect(() => setError(undefined), [about]);
  const [isRunning, setRunning] = useState(false);

  async function submit(event: Event): Promise<void> {
    event.preventDefault();
    setError(undefined);
    setRunning(true);
    try {
      const done = await run();
      if (done !== undefined) say(typeof done === "string" ? { text: done } : done);
      dialog.current?.close();
    } catch (thrown) {
      if (dialog.current?.open) setError(thrown);
      // The user has closed the dialog, and nobody would see the error there.
      else say({ text: `"${confirm}" failed: ${messageOf(thrown)}`, isFailure: true });
    } finally {
      setRunning(false);
      // A failed action may have changed something, too.
      void refresh();
    }
  }

  return { submit, error, isRunning };
}

export function ActionError({ error }: { error: unknown }) {
  const { code, data = {} } = error instanceof MinutehandError ? error : { code: undefined };
  const errors = Array.isArray(data.errors) ? (data.errors as { path: string; message: string }[]) : [];
  return (
    <div class="failure" role="alert">
      <p>
        {code && <code>{code}</code>}{" "}
        {code === "changed-meanwhile"
          ? "Nothing was done, because this is not the job that the dialog has shown first."
          : messageOf(error)}{" "}
        {code === "job-already-exists" && <a href={addresses.job(String(data.id))}>Show this job</a>}
      </p>
      {errors.length > 1 && (
        <ul>
          {errors.map(({ path, message }) => (
            <li key={path}>
              <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
