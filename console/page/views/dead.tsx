import { useQuery } from "@tanstack/preact-query";
import { api } from "../api.ts";
import { JobLine } from "../parts/job-line.tsx";
import { Empty, Loaded } from "../parts/loaded.tsx";
import { Rows } from "../parts/rows.tsx";
import { useSearch } from "../parts/search.ts";
import { firstOf } from "../reads.ts";

/** The dead jobs of a topic. */
export function DeadView() {
  const [{ topic = "" }] = useSearch();
  const dead = useQuery({
    queryKey: ["dead", topic],
    queryFn: ({ signal }) => firstOf(api.dead(topic, { signal, pageSize: 500 }), 1000),
    enabled: topic !== "",
  });
  return (
    <>
      <h1>Dead jobs</h1>
      <Loaded query={dead} what="the dead jobs">
        {(jobs) =>
          jobs.length === 0 ? (
            <Empty>
              <p>No job of {topic} is dead.</p>
            </Empty>
          ) : (
            <Rows rows={jobs} keyOf={({ id }) => id} height={44} label="Dead jobs">
              {(job) => <JobLine job={job} />}
            </Rows>
          )
        }
      </Loaded>
    </>
  );
}
