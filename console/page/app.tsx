import { QueryClientProvider } from "@tanstack/preact-query";
import { LocationProvider, Route, Router } from "preact-iso";
import { queries } from "./api.ts";
import { Frame } from "./frame.tsx";
import { DeadView } from "./views/dead.tsx";
import { EnqueueView } from "./views/enqueue.tsx";
import { JobView } from "./views/job.tsx";
import { JobsView } from "./views/jobs.tsx";
import { LiveView } from "./views/live.tsx";
import { NothingHere } from "./views/nothing-here.tsx";
import { Overview } from "./views/overview.tsx";
import { ScheduleView } from "./views/schedule.tsx";
import { SchedulesView } from "./views/schedules.tsx";
import { TimeView } from "./views/time.tsx";

export function App() {
  return (
    <QueryClientProvider client={queries}>
      <LocationProvider scope="/console">
        <Frame>
          <Views />
        </Frame>
      </LocationProvider>
    </QueryClientProvider>
  );
}

function Views() {
  return (
    <Router>
      <Route path="/console" component={Overview} />
      <Route path="/console/time" component={TimeView} />
      <Route path="/console/jobs" component={JobsView} />
      <Route path="/console/jobs/:id" component={JobView} />
      <Route path="/console/dead" component={DeadView} />
      <Route path="/console/enqueue" component={EnqueueView} />
      <Route path="/console/live" component={LiveView} />
      <Route path="/console/schedules" component={SchedulesView} />
      <Route path="/console/schedules/:name" component={ScheduleView} />
      <Route default component={NothingHere} />
    </Router>
  );
}
