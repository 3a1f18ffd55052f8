import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { LIVE_PATH } from "../../about.ts";
import type { LiveLine } from "../../live.ts";
import { kindOf, matchingLines, textOn, withLines } from "../live-lines.ts";
import { Empty } from "../parts/loaded.tsx";
import { Rows } from "../parts/rows.tsx";
import { addresses, useSearch } from "../parts/search.ts";
import { TopicField } from "../parts/topic-field.tsx";
import { now, zone } from "../state.ts";
import { clockText, zoneName } from "../times.ts";

export function LiveView() {
  const [{ topic = "", job = "", text = "" }] = useSearch();
  const { lines, connection } = useLiveLines();
  const [frozen, setFrozen] = useState<readonly LiveLine[] | undefined>();
  const all = frozen ?? lines;
  const shown = useMemo(() => matchingLines(all, { topic, job, text }), [all, topic, job, text]);
  const waiting = frozen ? matchingLines(lines, { topic, job, text }).length - shown.length : 0;
  return (
    <>
      <h1>Live</h1>
      <Filters />
      {connection === "lost" && (
        <div class="stale" role="status">
          <p>The local stack does not answer. New lines appear when it is back.</p>
        </div>
      )}
      <div class="buttons">
        <button type="button" onClick={() => setFrozen(frozen ? undefined : lines)}>
          {frozen ? `Go on (${waiting} new lines)` : "Hold the lines still"}
        </button>
        <span class="quiet" role="status">
          {shown.length === 1 ? "1 line" : `${shown.length.toLocaleString("en")} lines`}
        </span>
        <span class="quiet">The times are {zoneName(now.value, zone.value)}.</span>
      </div>
      {shown.length > 0 && (
        <Rows rows={shown} keyOf={keyOf} height={26} label="Lines of the log" isFollowed={!frozen}>
          {(line) => <Line line={line} />}
        </Rows>
      )}
      {/* Without a connection nobody knows whether something has happened. */}
      {shown.length === 0 && (connection === "open" || lines.length > 0) && (
        <NoLine isFirst={lines.length === 0} job={job} />
      )}
    </>
  );
}

function NoLine({ isFirst, job }: { isFirst: boolean; job: string }) {
  return (
    <Empty>
      <p>
        {isFirst ? "Nothing has happened yet." : "No line matches."} Lines appear here as they are written.
        {job !== "" && " They name jobs by their ids, not by their keys."}
      </p>
    </Empty>
  );
}

function Filters() {
  const [{ topic = "", job = "", text = "" }, change] = useSearch();
  return (
    <div class="filters">
      <TopicField value={topic} none="all topics" onChange={(name) => change({ topic: name })} />
      <div class="field">
        <label>
          Job id
          <input
            class="id"
            value={job}
            placeholder="a job's id or its beginning"
            onInput={(event) => change({ job: event.currentTarget.value.trim() })}
          />
        </label>
      </div>
      <div class="field">
        <label>
          Text
          <input value={text} onInput={(event) => change({ text: event.currentTarget.value })} />
        </label>
      </div>
    </div>
  );
}

function keyOf({ number, at }: LiveLine): string {
  return `${at} ${number}`;
}

function Line({ line }: { line: LiveLine }) {
  const kind = kindOf(line);
  const text = textOn(clockText(line.at, zone.value), line);
  if (line.job === undefined) return <span class={`live-line ${kind}`}>{text}</span>;
  return (
    <a class={`live-line ${kind}`} href={addresses.job(line.job)} data-line>
      {text}
    </a>
  );
}

/** Follows the stream of lines. The browser opens a lost stream again by itself, and the server sends what was missed. */
function useLiveLines(): {
  lines: readonly LiveLine[];
  connection: "opening" | "open" | "lost";
} {
  const [lines, setLines] = useState<readonly LiveLine[]>([]);
  const [connection, setConnection] = useState<"opening" | "open" | "lost">("opening");
  const arrived = useRef<LiveLine[]>([]);
  useEffect(() => {
    const source = new EventSource(LIVE_PATH);
    let frame = 0;
    source.onopen = () => setConnection("open");
    source.onerror = () => setConnection("lost");
    source.onmessage = ({ data }) => {
      arrived.current.push(JSON.parse(data));
      // Many lines may arrive between two frames. Draw them together.
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        const added = arrived.current.splice(0);
        setLines((before) => withLines(before, added));
      });
    };
    return () => {
      cancelAnimationFrame(frame);
      source.close();
    };
  }, []);
  return { lines, connection };
}
